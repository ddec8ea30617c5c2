package dev.hopx.agent;

import dev.hopx.guest.Kernels;
import java.util.List;

/** Languages with a persistent interpreter, and how its process is started. */
enum InterpreterKind {
  PYTHON,
  JAVASCRIPT;

  /** Unbuffered ({@code -u}), so that what was printed before a time-out is there. */
  private static final List<String> PYTHON_OPTIONS =
      List.of(
          "-u",
          "-c",
          "import sys;b=sys.stdin.buffer;g={'__name__':'hopx_kernel'};"
              + "exec(compile(b.read(int(b.readline())),'<hopx>','exec'),g);g['main']()");

  private static final List<String> JAVASCRIPT_OPTIONS =
      List.of(
          "-e",
          "(()=>{const fs=require('fs');const b=Buffer.alloc(1);let n='';"
              + "while(fs.readSync(0,b,0,1)===1&&b[0]!==10)n+=b;const s=Buffer.alloc(+n);"
              + "for(let i=0;i<s.length;)i+=fs.readSync(0,s,i,s.length-i);"
              + "require('vm').compileFunction(String(s),['require'],{filename:'hopx:kernel'})"
              + "(require)})()");

  /** The language's name in messages. */
  String title() {
    return switch (this) {
      case PYTHON -> "Python";
      case JAVASCRIPT -> "JavaScript";
    };
  }

  /** Names of the program; the first one that exists is run, the first one of all is reported. */
  List<String> programs() {
    return switch (this) {
      case PYTHON -> List.of("python3", "python");
      case JAVASCRIPT -> List.of("node", "nodejs");
    };
  }

  /** What the program is called in "command not found". */
  String program() {
    return programs().getFirst();
  }

  /** Arguments that read the kernel from stdin: its length, a line feed, its text. */
  List<String> options() {
    return switch (this) {
      case PYTHON -> PYTHON_OPTIONS;
      case JAVASCRIPT -> JAVASCRIPT_OPTIONS;
    };
  }

  byte[] kernel() {
    return switch (this) {
      case PYTHON -> Kernels.python();
      case JAVASCRIPT -> Kernels.javascript();
    };
  }
}
