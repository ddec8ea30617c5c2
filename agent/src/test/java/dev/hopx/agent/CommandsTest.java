package dev.hopx.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hopx.http.Json;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code /commands/run} against a real guest; tests named after rows of the field cases. */
class CommandsTest extends GuestTestBase {
  private Reply exact(String command, List<String> arguments) throws Exception {
    return agent().post("/commands/run", Map.of("command", command, "args", arguments));
  }

  private Reply timed(String command, int seconds) throws Exception {
    return agent().post("/commands/run", Map.of("command", command, "timeout", seconds));
  }

  private void awaitNone(String commandLine, Duration atMost) throws Exception {
    Instant deadline = Instant.now().plus(atMost);
    while (!exact("pgrep", List.of("-fx", commandLine)).text("stdout").isEmpty()) {
      assertThat(Instant.now()).as("%s still runs", commandLine).isBefore(deadline);
      Thread.sleep(50);
    }
  }

  @Test
  void answersInTheShapeOfTheContract() throws Exception {
    Reply reply = agent().shell("echo hi");

    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.flag("success")).isTrue();
    assertThat(reply.text("stdout")).isEqualTo("hi\n");
    assertThat(reply.text("stderr")).isEmpty();
    assertThat(reply.number("exit_code")).isZero();
    assertThat(reply.json().get("execution_time").isNumber()).isTrue();
    assertThat(reply.text("command")).isEqualTo("echo hi");
    assertThat(reply.number("pid")).isGreaterThan(1);
    assertThat(reply.text("timestamp")).endsWith("Z");
    assertThat(reply.flag("truncated")).isFalse();
    assertThat(reply.flag("timed_out")).isFalse();
  }

  @Test
  void a1ABackgroundJobDoesNotDelayTheReply() throws Exception {
    Instant start = Instant.now();

    Reply reply = exact("sh", List.of("-c", "sleep 61 & echo hi"));

    assertThat(Duration.between(start, Instant.now())).isLessThan(Duration.ofSeconds(1));
    assertThat(reply.text("stdout")).isEqualTo("hi\n");
    assertThat(reply.number("exit_code")).isZero();
    assertThat(exact("pgrep", List.of("-fx", "sleep 61")).text("stdout")).isNotEmpty();
    agent().shell("pkill -fx 'sleep 61'");
  }

  @Test
  void a2ADisownedJobDoesNotDelayTheReply() throws Exception {
    Instant start = Instant.now();

    Reply reply = exact("bash", List.of("-c", "(sleep 62) & disown; echo done"));

    assertThat(Duration.between(start, Instant.now())).isLessThan(Duration.ofSeconds(2));
    assertThat(reply.text("stdout")).isEqualTo("done\n");
    agent().shell("pkill -fx 'sleep 62'");
  }

  @Test
  void aBackgroundJobThatWritesIsNotKilledByTheEndOfItsRun() throws Exception {
    agent().shell("(sleep 0.3; echo one; sleep 0.1; echo two; echo lived > /tmp/lived) & echo hi");

    Thread.sleep(1000);

    assertThat(agent().shell("cat /tmp/lived").text("stdout")).isEqualTo("lived\n");
  }

  @Test
  void aBackgroundJobThatFloodsDoesNotHoldTheReply() throws Exception {
    Instant start = Instant.now();

    Reply reply = agent().shell("yes flood & echo $!");

    assertThat(reply.number("exit_code")).isZero();
    assertThat(Duration.between(start, Instant.now())).isLessThan(Duration.ofSeconds(4));
    agent().shell("pkill -9 -x yes");
  }

  @Test
  void a4ATimeOutKillsTheWholeTree() throws Exception {
    Reply reply =
        agent()
            .post(
                "/commands/run",
                Map.of(
                    "command",
                    "sh",
                    "args",
                    List.of("-c", "sleep 1001 & sleep 1001"),
                    "timeout",
                    1));

    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.number("exit_code")).isEqualTo(124);
    awaitNone("sleep 1001", Duration.ofSeconds(1));
  }

  @Test
  void a16ATimeOutKeepsTheOutput() throws Exception {
    Reply reply = timed("printf partial; printf oops >&2; sleep 5", 1);

    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.flag("success")).isFalse();
    assertThat(reply.flag("timed_out")).isTrue();
    assertThat(reply.number("exit_code")).isEqualTo(124);
    assertThat(reply.text("stdout")).isEqualTo("partial");
    assertThat(reply.text("stderr")).isEqualTo("oops\nExecution timed out after 1 second\n");
    assertThat(reply.json().get("execution_time").doubleValue()).isBetween(1.0, 3.0);
  }

  @Test
  void a17StreamsAreApart() throws Exception {
    Reply reply = agent().shell("printf out; printf err >&2; exit 7");

    assertThat(reply.text("stdout")).isEqualTo("out");
    assertThat(reply.text("stderr")).isEqualTo("err");
    assertThat(reply.number("exit_code")).isEqualTo(7);
    assertThat(reply.flag("success")).isFalse();
  }

  @ParameterizedTest
  @CsvSource({"exit 42, 42", "kill -9 $$, 137", "kill -TERM $$, 143", "no-such-binary, 127"})
  void a19ExitCodesAreThoseOfAShell(String text, int code) throws Exception {
    assertThat(agent().shell(text).number("exit_code")).isEqualTo(code);
    assertThat(exact("bash", List.of("-c", text)).number("exit_code")).isEqualTo(code);
  }

  @Test
  void anUnknownProgramHasTheShellsMessage() throws Exception {
    Reply text = agent().shell("nonexistent-command");
    assertThat(text.text("stderr")).isEqualTo("/bin/sh: nonexistent-command: command not found\n");
    assertThat(text.number("exit_code")).isEqualTo(127);

    Reply exact = exact("nonexistent-command", List.of("-x"));
    assertThat(exact.status()).isEqualTo(200);
    assertThat(exact.flag("success")).isFalse();
    assertThat(exact.text("stderr")).isEqualTo("nonexistent-command: command not found\n");
    assertThat(exact.number("exit_code")).isEqualTo(127);
    assertThat(exact.json().has("pid")).isFalse();

    assertThat(exact("/tmp", List.of("x")).number("exit_code")).isEqualTo(126);
    agent().write("/tmp/plain.txt", "x");
    Reply plain = exact("/tmp/plain.txt", List.of("x"));
    assertThat(plain.number("exit_code")).isEqualTo(126);
    assertThat(plain.text("stderr")).isEqualTo("/tmp/plain.txt: Permission denied\n");
  }

  @Test
  void a22ADroppedConnectionKillsTheRun() throws Exception {
    String body =
        Json.mapper()
            .writeValueAsString(
                Map.of("command", "sh", "args", List.of("-c", "sleep 1022 & sleep 1022")));
    try (Socket socket = new Socket(agent().address().getAddress(), agent().address().getPort())) {
      OutputStream out = socket.getOutputStream();
      out.write(
          ("POST /commands/run HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                  + TestAgent.TOKEN
                  + "\r\nContent-Length: "
                  + body.length()
                  + "\r\n\r\n"
                  + body)
              .getBytes(StandardCharsets.US_ASCII));
      out.flush();
      Instant deadline = Instant.now().plusSeconds(5);
      while (exact("pgrep", List.of("-fx", "sleep 1022")).text("stdout").isEmpty()) {
        assertThat(Instant.now()).isBefore(deadline);
        Thread.sleep(20);
      }
    }
    awaitNone("sleep 1022", Duration.ofSeconds(2));
  }

  @Test
  void b1QuickOutputIsNeverLost() throws Exception {
    for (int index = 0; index < 500; index++) {
      assertThat(exact("echo", List.of("n" + index)).text("stdout")).isEqualTo("n" + index + "\n");
    }
  }

  @Test
  void b2OutputIsCompleteWhenTheReplyComes() throws Exception {
    Reply reply = exact("sh", List.of("-c", "seq 1 200000"));

    assertThat(reply.number("exit_code")).isZero();
    assertThat(reply.text("stdout")).endsWith("\n199999\n200000\n").hasLineCount(200_000);
  }

  @Test
  void b5InvalidUtf8BecomesReplacementCharacters() throws Exception {
    assertThat(agent().shell("printf '\\xff\\xfe'").text("stdout")).isEqualTo("\uFFFD\uFFFD");
    assertThat(agent().shell("printf 'a\\0b'").text("stdout")).isEqualTo("a\0b");
    assertThat(agent().shell("printf 'caf\\xc3'; sleep 0.2; printf '\\xa9'").text("stdout"))
        .isEqualTo("café");
  }

  @Test
  void b7BlankLinesStay() throws Exception {
    assertThat(agent().shell("printf 'a\\n\\n\\nb\\n'").text("stdout")).isEqualTo("a\n\n\nb\n");
    assertThat(agent().shell("printf '1\\r2\\r3'").text("stdout")).isEqualTo("1\r2\r3");
  }

  @Test
  void b10OutputIsCutAtTheDocumentedLimitAndTheProgramLives() throws Exception {
    Reply reply =
        agent()
            .shell(
                "set -o pipefail; printf 'the head\\n'; yes | head -c 50M || true;"
                    + " printf 'the tail\\n'; exit 3");

    assertThat(reply.number("exit_code")).isEqualTo(3);
    assertThat(reply.flag("truncated")).isTrue();
    assertThat(reply.text("stdout"))
        .startsWith("the head\ny\n")
        .contains("bytes left out")
        .endsWith("y\nthe tail\n");
    assertThat(reply.text("stdout").length())
        .isBetween(ForegroundRunner.MAX_OUTPUT - 10, ForegroundRunner.MAX_OUTPUT + 100);
  }

  @Test
  void c1StdinIsAtItsEnd() throws Exception {
    Reply reply = timed("cat; readlink /proc/self/fd/0", 5);

    assertThat(reply.number("exit_code")).isZero();
    assertThat(reply.text("stdout")).isEqualTo("/dev/null\n");
  }

  @ParameterizedTest
  @ValueSource(ints = {ShellProgram.MAX_ARGUMENT, ShellProgram.MAX_ARGUMENT + 1, 1 << 20, 3 << 20})
  void c7ACommandOfAnySizeRuns(int size) throws Exception {
    String head = "cat; readlink /proc/self/fd/0; echo ${#x} $0; exit 9 #";
    String text = head + "x".repeat(size - head.length());

    Reply plain = agent().shell(text);
    assertThat(plain.text("stdout")).isEqualTo("/dev/null\n0 /bin/sh\n");
    assertThat(plain.number("exit_code")).isEqualTo(9);

    Reply sdk = exact("bash", List.of("-c", text));
    assertThat(sdk.text("stdout")).isEqualTo("/dev/null\n0 bash\n");
    assertThat(sdk.number("exit_code")).isEqualTo(9);
  }

  @Test
  void anArgumentTooLongForTheKernelIsReportedAsAShellWould() throws Exception {
    Reply reply = exact("echo", List.of("x".repeat(140_000)));

    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.number("exit_code")).isEqualTo(126);
    assertThat(reply.text("stderr")).isEqualTo("echo: Argument list too long\n");
  }

  @Test
  void c8QuotingIsKept() throws Exception {
    String odd = "' \" \\ $HOME ` ! \n\t*?[]{}~ あ 🤣";

    assertThat(exact("printf", List.of("%s", odd)).text("stdout")).isEqualTo(odd);
    Reply byEnv =
        agent()
            .post(
                "/commands/run",
                Map.of("command", "printf %s \"$ODD\"", "env", Map.of("ODD", odd)));
    assertThat(byEnv.text("stdout")).isEqualTo(odd);
    agent().write("/workspace/odd", odd);
    assertThat(agent().shell("cat /workspace/odd").text("stdout")).isEqualTo(odd);
  }

  @Test
  void c16ParallelCommandsDoNotCross() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Reply>> replies = new ArrayList<>();
      for (int index = 0; index < 20; index++) {
        String line = "line-" + index;
        replies.add(
            threads.submit(() -> agent().shell("for i in $(seq 50); do echo " + line + "; done")));
      }
      for (int index = 0; index < replies.size(); index++) {
        assertThat(replies.get(index).get().text("stdout"))
            .isEqualTo(("line-" + index + "\n").repeat(50));
      }
    }
  }

  @Test
  void aShellTextUsesBash() throws Exception {
    Reply reply = agent().shell("a=(1 2 3); [[ ${#a[@]} == 3 ]] && cat <<< \"three\"");

    assertThat(reply.text("stdout")).isEqualTo("three\n");
    assertThat(agent().shell("#!/bin/bash\necho two\ncd /tmp").text("stdout")).isEqualTo("two\n");
    assertThat(agent().shell("pwd").text("stdout")).isEqualTo("/workspace\n");
  }

  @Test
  void aWorkingDirectoryIsMadeBelowTheRoots() throws Exception {
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("command", "pwd");
    body.put("workdir", null);
    body.put("working_dir", "/tmp/made/for/this");
    assertThat(agent().post("/commands/run", body).text("stdout"))
        .isEqualTo("/tmp/made/for/this\n");
    body.put("workdir", "relative/one");
    assertThat(agent().post("/commands/run", body).text("stdout"))
        .isEqualTo("/workspace/relative/one\n");
    body.put("workdir", "/etc");
    assertThat(agent().post("/commands/run", body).text("stdout")).isEqualTo("/etc\n");

    body.put("workdir", "/opt/not/there");
    Reply refused = agent().post("/commands/run", body);
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.text("message")).contains("workdir", "/opt/not/there");
    body.put("workdir", "/etc/passwd");
    refused = agent().post("/commands/run", body);
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.text("message")).contains("workdir", "/etc/passwd is not a directory");
  }

  @Test
  void aNameTheKernelRefusesIsTheCallersError() throws Exception {
    String name = "/" + "n".repeat(256);
    Reply refused =
        agent().post("/commands/run", Map.of("command", "pwd", "workdir", "/workspace" + name));
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.text("message")).contains("workdir", "too long");
    Reply failed = agent().post("/commands/run", Map.of("command", name, "args", List.of("x")));
    assertThat(failed.status()).isEqualTo(200);
    assertThat(failed.text("stderr")).contains("too long");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | command",
        "{\"command\":[\"ls\"]} | command",
        "{\"command\":\"  \"} | command",
        "{\"command\":\"a\\u0000b\"} | command",
        "{\"command\":\"ls\",\"args\":\"-l\"} | args",
        "{\"command\":\"ls\",\"args\":[1]} | args",
        "{\"command\":\"ls\",\"args\":[\"a\\u0000b\"]} | args",
        "{\"command\":\"ls\",\"timeout\":0.9} | timeout",
        "{\"command\":\"ls\",\"timeout\":-1} | timeout",
        "{\"command\":\"ls\",\"timeout\":\"5\"} | timeout",
        "{\"command\":\"ls\",\"workdir\":7} | workdir",
        "{\"command\":\"ls\",\"env\":[]} | env",
        "{\"command\":\"ls\",\"env\":{\"A\":1}} | env",
        "{\"command\":\"ls\",\"env\":{\"A=B\":\"1\"}} | env",
        "{\"command\":\"ls\",\"env\":{\"\":\"1\"}} | env",
        "{\"command\":\"ls\",\"env\":{\"A\":\"1\\u0000\"}} | env",
        "[] | object",
        "{ | JSON",
      })
  void h5BadInputNamesTheField(String body, String names) throws Exception {
    Reply reply = agent().post("/commands/run", body);

    assertThat(reply.status()).as(reply.body()).isEqualTo(400);
    assertThat(reply.text("message")).contains(names);
    assertThat(reply.text("error")).isEqualTo(reply.text("message"));
    assertThat(reply.text("code")).isNotEmpty();
    assertThat(reply.json().get("details").isObject()).isTrue();
    assertThat(reply.text("request_id"))
        .isEqualTo(reply.headers().firstValue("X-Request-ID").orElseThrow());
  }

  @ParameterizedTest
  @ValueSource(strings = {"1", "1.5", "120000", "1e300", "99999999999999999999"})
  void longTimeOutsAreHonoured(String timeout) throws Exception {
    Reply reply =
        agent().post("/commands/run", "{\"command\":\"echo ok\",\"timeout\":" + timeout + "}");

    assertThat(reply.text("stdout")).isEqualTo("ok\n");
  }
}
