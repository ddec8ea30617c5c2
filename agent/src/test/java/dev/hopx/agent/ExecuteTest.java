package dev.hopx.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code /execute} in all languages against a real guest. */
class ExecuteTest extends GuestTestBase {
  private void assumeProgram(String path) {
    boolean there = machine().has(path);
    if (!there) {
      System.err.println("SKIPPED: the test's root file system has no " + path);
    }
    assumeTrue(there, "SKIPPED: the test's root file system has no " + path);
  }

  private Reply python(String code) throws Exception {
    assumeProgram("usr/bin/python3");
    return agent().run("python", code);
  }

  private Reply node(String code) throws Exception {
    assumeProgram("usr/bin/node");
    return agent().run("javascript", code);
  }

  @Test
  void answersInTheShapeOfTheContract() throws Exception {
    assumeProgram("usr/bin/python3");
    Reply reply = agent().post("/execute", Map.of("code", "print('hi')"));

    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.text("stdout")).isEqualTo("hi\n");
    assertThat(reply.text("stderr")).isEmpty();
    assertThat(reply.flag("success")).isTrue();
    assertThat(reply.number("exit_code")).isZero();
    assertThat(reply.json().get("execution_time").isNumber()).isTrue();
    assertThat(reply.text("language")).isEqualTo("python");
    assertThat(reply.text("timestamp")).endsWith("Z");
    assertThat(reply.json().has("rich_outputs")).isFalse();
    assertThat(reply.json().has("png")).isFalse();

    Reply rich = agent().post("/execute/rich", Map.of("code", "print('hi')"));
    assertThat(rich.json().get("rich_outputs").isArray()).isTrue();
    assertThat(rich.json().get("rich_outputs")).isEmpty();
  }

  @Test
  void e8APythonErrorIsAResultWithATraceback() throws Exception {
    Reply reply = python("def f(x):\n    return 1 / x\n\nf(0)\n");

    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.flag("success")).isFalse();
    assertThat(reply.number("exit_code")).isEqualTo(1);
    assertThat(reply.text("stderr"))
        .startsWith("Traceback (most recent call last):\n  File \"<code>\", line 4, in <module>\n")
        .contains("return 1 / x")
        .endsWith("ZeroDivisionError: division by zero\n")
        .doesNotContain("_run");
  }

  @Test
  void aPythonSyntaxErrorShowsTheLine() throws Exception {
    Reply reply = python("x = 1\nprint(1\n");

    assertThat(reply.number("exit_code")).isEqualTo(1);
    assertThat(reply.text("stderr"))
        .startsWith("  File \"<code>\", line 2\n    print(1\n")
        .contains("SyntaxError");
  }

  @Test
  void pythonRunsAsTheMainProgramWithItsExitCodes() throws Exception {
    assertThat(python("if __name__ == '__main__':\n    print('main')").text("stdout"))
        .isEqualTo("main\n");
    assertThat(python("import sys\nsys.exit(3)").number("exit_code")).isEqualTo(3);
    assertThat(python("import sys\nsys.exit()").flag("success")).isTrue();
    assertThat(python("raise SystemExit('why')").text("stderr")).isEqualTo("why\n");
    assertThat(python("exit(5)").number("exit_code")).isEqualTo(5);
    assertThat(
            python(
                    "import unittest\nclass T(unittest.TestCase):\n"
                        + "  def test(self): self.assertEqual(1, 1)\nunittest.main()")
                .flag("success"))
        .isTrue();
    assertThat(python("import os\nos.kill(os.getpid(), 9)").number("exit_code")).isEqualTo(137);
    assertThat(
            python("import sys\nprint(sys.stdin.read(), end='')\nprint(len(sys.argv))")
                .text("stdout"))
        .isEqualTo("1\n");
    assertThat(
            python("import inspect\ndef f(): return 5\nprint(inspect.getsource(f))").text("stdout"))
        .isEqualTo("def f(): return 5\n\n");
  }

  @Test
  void pythonImportsFromTheWorkingDirectory() throws Exception {
    assumeProgram("usr/bin/python3");
    agent().write("/workspace/project/utils.py", "def greet(): return 'hello from a module'\n");

    Reply reply =
        agent()
            .post(
                "/execute",
                Map.of(
                    "code", "from utils import greet\nprint(greet())",
                    "working_dir", "/workspace/project"));

    assertThat(reply.text("stdout")).isEqualTo("hello from a module\n");
  }

  @Test
  void a16PythonKeepsWhatWasPrintedBeforeATimeOut() throws Exception {
    assumeProgram("usr/bin/python3");
    Reply reply =
        agent()
            .post(
                "/execute",
                Map.of(
                    "code",
                    "import time\nprint('partial')\nprint('half', end='')\ntime.sleep(30)",
                    "timeout",
                    1));

    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.text("stdout")).isEqualTo("partial\nhalf");
    assertThat(reply.number("exit_code")).isEqualTo(124);
    assertThat(reply.flag("timed_out")).isTrue();
  }

  @Test
  void c7CodeOfAnySizeRunsInEveryInterpreter() throws Exception {
    int size = 2 << 20;
    assertThat(python("x = '" + "a".repeat(size) + "'\nprint(len(x))").text("stdout"))
        .isEqualTo(size + "\n");
    assertThat(node("const x = '" + "a".repeat(size) + "'; console.log(x.length)").text("stdout"))
        .isEqualTo(size + "\n");
    assertThat(agent().run("bash", "x='" + "a".repeat(size) + "'; echo ${#x}").text("stdout"))
        .isEqualTo(size + "\n");
  }

  @Test
  void c8CodeReachesTheInterpreterByteForByte() throws Exception {
    String odd = "' \" \\ $HOME ` ! あ 🤣 \u2028";
    String literal = dev.hopx.http.Json.mapper().writeValueAsString(odd);

    assertThat(python("print(" + literal + ", end='')").text("stdout")).isEqualTo(odd);
    assertThat(node("process.stdout.write(" + literal + ")").text("stdout")).isEqualTo(odd);
    assertThat(agent().run("bash", "cat <<'END'\n" + odd + "\nEND").text("stdout"))
        .isEqualTo(odd + "\n");
  }

  @Test
  void javascriptRunsScriptsAwaitAndModules() throws Exception {
    assertThat(
            node("const fs = require('fs'); console.log(typeof fs.readFileSync, require.main === module)")
                .text("stdout"))
        .isEqualTo("function true\n");
    assertThat(
            node("const os = require('os'); console.log(await Promise.resolve(typeof os.cpus))")
                .text("stdout"))
        .isEqualTo("function\n");
    assertThat(
            node("import fs, { readFileSync } from 'fs';\nconsole.log(fs.readFileSync === readFileSync, await 7)")
                .text("stdout"))
        .isEqualTo("true 7\n");
    assertThat(node("process.exit(4)").number("exit_code")).isEqualTo(4);
    assertThat(
            node("process.stdin.on('data', () => {}).on('end', () => console.log('end'))")
                .text("stdout"))
        .isEqualTo("end\n");
    assertThat(
            node("console.error('e'); console.log([1,2,3].map(x => x * 2).join())").text("stderr"))
        .isEqualTo("e\n");
  }

  @Test
  void javascriptImportsFromTheWorkingDirectory() throws Exception {
    assumeProgram("usr/bin/node");
    agent().write("/workspace/js/local.mjs", "export const local = 'a local module';\n");
    agent().write("/workspace/js/common.js", "module.exports = 'a local script';\n");
    agent()
        .write(
            "/workspace/js/node_modules/only/package.json",
            "{\"name\":\"only\",\"type\":\"module\",\"exports\":{\"import\":\"./only.js\"}}");
    agent().write("/workspace/js/node_modules/only/only.js", "export default 'an ES package';\n");

    Reply reply =
        agent()
            .post(
                "/execute",
                Map.of(
                    "language", "js",
                    "code",
                        "import { local } from './local.mjs';\nimport only from 'only';\n"
                            + "console.log(local, '|', only, '|', require('./common.js'))",
                    "workdir", "/workspace/js"));

    assertThat(reply.text("stderr")).isEmpty();
    assertThat(reply.text("stdout")).isEqualTo("a local module | an ES package | a local script\n");
  }

  @Test
  void e8AJavascriptErrorIsAResult() throws Exception {
    Reply thrown = node("const a = 1;\nthrow new TypeError('boom')");
    assertThat(thrown.number("exit_code")).isEqualTo(1);
    assertThat(thrown.text("stderr"))
        .contains("[code]:2", "TypeError: boom")
        .doesNotContain("[eval]");

    Reply rejected = node("const a = 1;\nawait Promise.reject(new Error('late'))");
    assertThat(rejected.number("exit_code")).isEqualTo(1);
    assertThat(rejected.text("stderr")).contains("Error: late");

    Reply malformed = node("const a = 1;\nlet b = ;");
    assertThat(malformed.number("exit_code")).isEqualTo(1);
    assertThat(malformed.text("stderr")).contains("[code]:2", "SyntaxError");
  }

  @Test
  void bashRunsWithItsOwnMessages() throws Exception {
    Reply reply = agent().run("bash", "#!/bin/bash\nset -o pipefail\necho $((6*7)) | cat\nnope");

    assertThat(reply.text("stdout")).isEqualTo("42\n");
    assertThat(reply.text("stderr")).isEqualTo("bash: line 4: nope: command not found\n");
    assertThat(reply.number("exit_code")).isEqualTo(127);
    assertThat(reply.text("language")).isEqualTo("bash");
  }

  @Test
  void goBuildsAndRunsInTheWorkingDirectory() throws Exception {
    assumeProgram("usr/bin/go");
    String code =
        """
        package main

        import (
        	"fmt"
        	"os"
        )

        func main() {
        	directory, _ := os.Getwd()
        	fmt.Println(directory, os.Getenv("GREETING"))
        	fmt.Fprintln(os.Stderr, "to stderr")
        	os.Exit(6)
        }
        """;
    Reply reply =
        agent()
            .post(
                "/execute",
                Map.of(
                    "language",
                    "go",
                    "code",
                    code,
                    "timeout",
                    110,
                    "env",
                    Map.of("GREETING", "hi"),
                    "workdir",
                    "/tmp/go-here"));

    assertThat(reply.text("stdout")).isEqualTo("/tmp/go-here hi\n");
    assertThat(reply.text("stderr")).isEqualTo("to stderr\n");
    assertThat(reply.number("exit_code")).isEqualTo(6);

    Reply broken = agent().run("go", "package main\n\nfunc main() {\n\tx := 1\n}\n");
    assertThat(broken.number("exit_code")).isEqualTo(1);
    assertThat(broken.text("stderr")).contains("./main.go:4:2: declared and not used: x");

    Reply panic = agent().run("go", "package main\n\nfunc main() {\n\tpanic(\"oh\")\n}\n");
    assertThat(panic.number("exit_code")).isEqualTo(2);
    assertThat(panic.text("stderr")).contains("panic: oh", "./main.go:4");
    assertThat(agent().shell("ls -d /tmp/hopx-go-*").text("stdout")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "python",
        "python3",
        "Python",
        "javascript",
        "js",
        "node",
        "nodejs",
        "bash",
        "sh",
        "shell"
      })
  void everyNameOfALanguageWorks(String name) throws Exception {
    String code =
        switch (Language.parse(name)) {
          case PYTHON -> "print(1)";
          case JAVASCRIPT -> "console.log(1)";
          case BASH -> "echo 1";
          case GO -> throw new AssertionError();
        };
    if (Language.parse(name) == Language.JAVASCRIPT) {
      assumeProgram("usr/bin/node");
    }
    assertThat(agent().run(name, code).text("stdout")).isEqualTo("1\n");
  }

  @Test
  void aProgramThatTheImageLacksIsAResult() throws Exception {
    // An agent of its own: its interpreter has not been started yet.
    try (TestAgent agent = TestAgent.start(machine().guest())) {
      agent.method("PUT", "/env", "{\"env_vars\":{\"PATH\":\"/nowhere\"}}");
      Reply reply = agent.post("/execute", Map.of("code", "1"));

      assertThat(reply.status()).isEqualTo(200);
      assertThat(reply.number("exit_code")).isEqualTo(127);
      assertThat(reply.text("stderr")).isEqualTo("python3: command not found\n");
    }
  }

  @Test
  void badInputNamesTheField() throws Exception {
    refused("{\"code\":\"1\",\"language\":\"ruby\"}", "Invalid language: ruby");
    refused("{\"code\":\"1\",\"language\":\"ruby\"}", "python, javascript, bash, go");
    refused("{\"language\":\"python\"}", "Invalid request: missing required field 'code'");
    refused("{\"code\":7}", "code");
    refused("{\"code\":\"1\",\"language\":7}", "language");
    refused("{\"code\":\"1\",\"timeout\":true}", "timeout");
    refused("{\"code\":\"1\",\"language\":\"bash\",\"env\":{\"1A\":\"x\"}}", "1A");
    refused("{\"code\":\"echo \\u0000\",\"language\":\"bash\"}", "code");
    refused("{\"code\":\"1\",\"workdir\":\"/opt/nope\"}", "/opt/nope");
  }

  private void refused(String body, String names) throws Exception {
    Reply reply = agent().post("/execute", body);
    assertThat(reply.status()).as(reply.body()).isEqualTo(400);
    assertThat(reply.text("message")).contains(names);
  }

  @Test
  void variablesOfOneRunDoNotStay() throws Exception {
    Reply with =
        agent()
            .post(
                "/execute",
                Map.of("language", "bash", "code", "echo [$ONCE]", "env", Map.of("ONCE", "1")));
    assertThat(with.text("stdout")).isEqualTo("[1]\n");
    assertThat(agent().run("bash", "echo [$ONCE]").text("stdout")).isEqualTo("[]\n");
    assertThat(
            List.of(
                agent().run("bash", "echo $HOME $USER $LANG").text("stdout").strip().split(" ")))
        .containsExactly("/root", "root", "C.UTF-8");
  }
}
