package dev.hopx.agent;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** {@code /files/…} against a real guest; tests named after rows of the field cases. */
class FilesTest extends GuestTestBase {
  private static final String BOUNDARY = "hopx-test-boundary";

  private Reply read(String path) throws Exception {
    return agent().get("/files/read" + TestAgent.query(path));
  }

  private Reply download(String path, String... headers) throws Exception {
    var request = agent().request("/files/download" + TestAgent.query(path));
    return agent().send(headers.length == 0 ? request : request.headers(headers));
  }

  private Reply remove(String path) throws Exception {
    return agent().delete("/files/remove" + TestAgent.query(path));
  }

  private Reply list(String path) throws Exception {
    return agent().get("/files/list" + TestAgent.query(path));
  }

  private JsonNode entry(String directory, String name) throws Exception {
    for (JsonNode entry : list(directory).json().get("files")) {
      if (entry.get("name").stringValue().equals(name)) {
        return entry;
      }
    }
    throw new AssertionError("No " + name + " in " + list(directory).body());
  }

  private Reply writeBytes(String path, byte[] bytes) throws Exception {
    return agent()
        .post(
            "/files/write",
            Map.of(
                "path",
                path,
                "content",
                Base64.getEncoder().encodeToString(bytes),
                "encoding",
                "base64"));
  }

  /** Parts are a name and a value, or the name "file", a file name and bytes. */
  private Reply upload(Object... parts) throws Exception {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    for (int index = 0; index < parts.length; ) {
      String name = (String) parts[index++];
      body.write(
          ("--" + BOUNDARY + "\r\nContent-Disposition: form-data; name=\"" + name + "\"")
              .getBytes(StandardCharsets.UTF_8));
      if (name.equals("file")) {
        body.write(
            ("; filename=\""
                    + parts[index++]
                    + "\"\r\nContent-Type: application/octet-stream\r\n\r\n")
                .getBytes(StandardCharsets.UTF_8));
        body.write((byte[]) parts[index++]);
      } else {
        body.write(("\r\n\r\n" + parts[index++]).getBytes(StandardCharsets.UTF_8));
      }
      body.write("\r\n".getBytes(StandardCharsets.UTF_8));
    }
    body.write(("--" + BOUNDARY + "--\r\n").getBytes(StandardCharsets.UTF_8));
    return agent()
        .send(
            agent()
                .request("/files/upload")
                .header("Content-Type", "multipart/form-data; boundary=" + BOUNDARY)
                .POST(java.net.http.HttpRequest.BodyPublishers.ofByteArray(body.toByteArray())));
  }

  private static void refused(Reply reply, int status, String code, String path) {
    assertThat(reply.status()).as(reply.body()).isEqualTo(status);
    assertThat(reply.text("code")).isEqualTo(code);
    assertThat(reply.text("message")).contains(path);
    assertThat(reply.text("error")).isEqualTo(reply.text("message"));
    assertThat(reply.text("path")).isEqualTo(path);
    assertThat(reply.json().get("details").get("path").stringValue()).isEqualTo(path);
  }

  private static byte[] random(int size) {
    byte[] bytes = new byte[size];
    new Random(size).nextBytes(bytes);
    return bytes;
  }

  @Test
  void writesAndReadsText() throws Exception {
    Reply written = agent().write("/workspace/new/dir/a.txt", "one\ntwo\n");

    assertThat(written.status()).isEqualTo(200);
    assertThat(written.flag("success")).isTrue();
    assertThat(written.text("message")).isEqualTo("File written successfully");
    assertThat(written.text("path")).isEqualTo("/workspace/new/dir/a.txt");
    assertThat(written.number("size")).isEqualTo(8);
    Reply read = read("/workspace/new/dir/a.txt");
    assertThat(read.text("content")).isEqualTo("one\ntwo\n");
    assertThat(read.text("encoding")).isEqualTo("utf-8");
    assertThat(read.number("size")).isEqualTo(8);
    assertThat(read.text("path")).isEqualTo("/workspace/new/dir/a.txt");
    assertThat(read("new/dir/a.txt").text("content")).as("relative").isEqualTo("one\ntwo\n");
  }

  @Test
  void d1BinaryComesBackByteForByte() throws Exception {
    byte[] bytes = HexFormat.of().parseHex("00010203fffefdaabbcc");
    writeBytes("/workspace/d1.bin", bytes);

    Reply download = download("/workspace/d1.bin");
    assertThat(download.bytes()).isEqualTo(bytes);
    assertThat(download.headers().firstValue("Content-Type")).hasValue("application/octet-stream");
    assertThat(download.headers().firstValue("Content-Length")).hasValue("10");
    Reply read = read("/workspace/d1.bin");
    assertThat(read.text("encoding")).isEqualTo("base64");
    assertThat(Base64.getDecoder().decode(read.text("content"))).isEqualTo(bytes);
    byte[] png = HexFormat.of().parseHex("89504e470d0a1a0a00");
    writeBytes("/workspace/d1.png", png);
    assertThat(download("/workspace/d1.png").bytes()).isEqualTo(png);
  }

  @Test
  void d2UnknownEncodingsAndBrokenBase64AreRefused() throws Exception {
    byte[] office = random(18_000);
    writeBytes("/workspace/d2.xlsx", office);
    assertThat(download("/workspace/d2.xlsx").bytes()).isEqualTo(office);

    for (Map<String, ?> body :
        List.of(
            Map.of("path", "/workspace/d2", "content", "x", "encoding", "rot13"),
            Map.of("path", "/workspace/d2", "content", "%%%", "encoding", "base64"),
            Map.of("path", "/workspace/d2", "content", "x", "mode", "rwx"),
            Map.of("path", "/workspace/d2", "content", "x", "mode", "0888"),
            Map.of("path", "/workspace/d2", "content", "x", "mode", 420),
            Map.of("path", "/workspace/d2", "content", 7),
            Map.of("path", "/workspace/d2"),
            Map.of("content", "x"))) {
      Reply reply = agent().post("/files/write", body);
      assertThat(reply.status()).as(reply.body()).isEqualTo(400);
    }
    assertThat(read("/workspace/d2").status()).isEqualTo(404);
    assertThat(
            agent()
                .post(
                    "/files/write",
                    Map.of("path", "/tmp/lines", "content", "aGVs\nbG8=\n", "encoding", "base64"))
                .number("size"))
        .isEqualTo(5);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"あああ.txt", "🤣.txt", "a b'c\".txt", "new\nline", "-rf", "%2e%2e", "a;b=c", "ü\\x"})
  void d4OddNamesWork(String name) throws Exception {
    byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
    String path = "/workspace/odd/" + name;
    assertThat(upload("path", path, "file", "f", bytes).status()).isEqualTo(200);

    assertThat(read(path).text("content")).isEqualTo(name);
    assertThat(entry("/workspace/odd", name).get("path").stringValue()).isEqualTo(path);
    Reply download = download(path);
    assertThat(download.bytes()).isEqualTo(bytes);
    assertThat(download.headers().firstValue("Content-Disposition").orElseThrow())
        .isEqualTo(ContentDisposition.attachment(name));
    assertThat(remove(path).status()).isEqualTo(200);
  }

  @Test
  void d5DotFilesAreFiles() throws Exception {
    for (String name : List.of(".env", "..foo", "...", ".a.b")) {
      assertThat(agent().write(name, name).status()).isEqualTo(200);
      assertThat(read("/workspace/./" + name).text("content")).isEqualTo(name);
    }
    assertThat(list(".").status()).isEqualTo(200);
    refused(list(".."), 403, "PATH_NOT_ALLOWED", "/workspace/..");
    refused(read("../etc/passwd"), 403, "PATH_NOT_ALLOWED", "/workspace/../etc/passwd");
    assertThat(agent().write("..", "x").status()).isEqualTo(400);
    assertThat(agent().write("/workspace/../etc/passwd", "x").status()).isEqualTo(403);
  }

  @Test
  void d8AFileIsThereWhenTheReplyIs() throws Exception {
    for (int index = 0; index < 100; index++) {
      byte[] bytes = random(5000 + index);
      String path = "/workspace/d8-" + index;
      upload("path", path, "file", "f", bytes);
      String sum = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
      assertThat(agent().shell("sha256sum " + path).text("stdout")).startsWith(sum);
    }
  }

  @Test
  void d10WhatIsMissingIs404AndAFileIsNoDirectory() throws Exception {
    refused(read("/workspace/missing.txt"), 404, "FILE_NOT_FOUND", "/workspace/missing.txt");
    assertThat(read("/workspace/missing.txt").text("message"))
        .isEqualTo("File not found: /workspace/missing.txt");
    refused(download("/workspace/missing"), 404, "FILE_NOT_FOUND", "/workspace/missing");
    refused(remove("/workspace/missing"), 404, "FILE_NOT_FOUND", "/workspace/missing");
    refused(list("/workspace/missing"), 404, "DIRECTORY_NOT_FOUND", "/workspace/missing");
    refused(read("/nonexistent/file.txt"), 404, "FILE_NOT_FOUND", "/nonexistent/file.txt");
    agent().write("/workspace/file", "x");
    refused(list("/workspace/file"), 400, "NOT_A_DIRECTORY", "/workspace/file");
    refused(read("/workspace"), 400, "IS_DIRECTORY", "/workspace");
    refused(agent().write("/workspace", "x"), 400, "IS_DIRECTORY", "/workspace");
    refused(
        agent().write("/workspace/file/below", "x"),
        400,
        "NOT_A_DIRECTORY",
        "/workspace/file/below");
    agent()
        .shell(
            "ln -s file /workspace/link; ln -s nowhere /workspace/dangling; mkfifo /workspace/fifo");
    refused(list("/workspace/link"), 400, "NOT_A_DIRECTORY", "/workspace/link");
    assertThat(read("/workspace/link").text("content")).isEqualTo("x");
    refused(read("/workspace/dangling"), 404, "FILE_NOT_FOUND", "/workspace/dangling");
    refused(read("/workspace/fifo"), 400, "NOT_A_REGULAR_FILE", "/workspace/fifo");
  }

  @Test
  void d11AnEmptyDirectoryHasAnEmptyList() throws Exception {
    Reply made = agent().post("/files/mkdir", Map.of("path", "/workspace/e/mp/ty"));
    assertThat(made.text("message")).isEqualTo("Directory created successfully");
    assertThat(agent().post("/files/mkdir", Map.of("path", "/workspace/e/mp/ty")).status())
        .isEqualTo(200);

    Reply reply = list("/workspace/e/mp/ty");

    assertThat(reply.json().get("files").isArray()).isTrue();
    assertThat(reply.json().get("files")).isEmpty();
    assertThat(reply.number("count")).isZero();
    assertThat(reply.text("path")).isEqualTo("/workspace/e/mp/ty");
    assertThat(agent().get("/files/list").text("path")).isEqualTo("/workspace");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/",
        "//",
        ".",
        "",
        "/workspace",
        "/workspace/",
        "/workspace/.",
        "/tmp",
        "/root",
        "..",
        "/workspace/..",
        "/etc",
        "/tmp/../workspace"
      })
  void d14ARootIsNotRemoved(String path) throws Exception {
    Reply reply = remove(path);

    assertThat(reply.status()).as(reply.body()).isIn(400, 403);
    assertThat(agent().shell("test -d /workspace -a -d /tmp -a -d /root").flag("success")).isTrue();
  }

  @Test
  void d17ModesAreAsAsked() throws Exception {
    agent()
        .post(
            "/files/write",
            Map.of(
                "path", "/workspace/run.sh", "content", "#!/bin/sh\necho ran\n", "mode", "0755"));
    assertThat(agent().shell("./run.sh").text("stdout")).isEqualTo("ran\n");
    JsonNode script = entry("/workspace", "run.sh");
    assertThat(script.get("permissions").stringValue()).isEqualTo("-rwxr-xr-x");
    assertThat(script.get("mode").stringValue()).isEqualTo("0755");
    agent().write("/workspace/run.sh", "#!/bin/sh\necho again\n");
    assertThat(agent().shell("./run.sh").text("stdout"))
        .as("the mode is kept")
        .isEqualTo("again\n");
    assertThat(agent().shell("stat -c %a:%U /workspace/run.sh").text("stdout"))
        .isEqualTo("755:root\n");
    for (String root : List.of("/workspace", "/tmp", "/root")) {
      assertThat(agent().write(root + "/d17", "x").status()).isEqualTo(200);
      assertThat(agent().shell("echo y >> " + root + "/d17").flag("success")).isTrue();
    }
    agent().write("/workspace/plain", "x");
    assertThat(entry("/workspace", "plain").get("permissions").stringValue())
        .isEqualTo("-rw-r--r--");
  }

  @Test
  void aListSpeaksBothDialects() throws Exception {
    agent().write("/workspace/listed/b.txt", "12345678");
    agent().shell("mkdir /workspace/listed/a; ln -s b.txt /workspace/listed/c");

    Reply reply = list("/workspace/listed");

    assertThat(
            reply.json().get("files").valueStream().map(entry -> entry.get("name").stringValue()))
        .containsExactly("a", "b.txt", "c");
    JsonNode directory = entry("/workspace/listed", "a");
    assertThat(directory.get("is_directory").booleanValue()).isTrue();
    assertThat(directory.get("is_dir").booleanValue()).isTrue();
    assertThat(directory.get("permissions").stringValue()).startsWith("drwx");
    JsonNode file = entry("/workspace/listed", "b.txt");
    assertThat(file.get("size").isIntegralNumber()).isTrue();
    assertThat(file.get("size").intValue()).isEqualTo(8);
    assertThat(file.get("is_dir").booleanValue()).isFalse();
    assertThat(file.get("modified_time").stringValue())
        .endsWith("Z")
        .isEqualTo(file.get("modified").stringValue());
    assertThat(Instant.parse(file.get("modified").stringValue()))
        .isBefore(Instant.now().plusSeconds(5));
    assertThat(entry("/workspace/listed", "c").get("link_target").stringValue()).isEqualTo("b.txt");
  }

  @Test
  void existsIsAlwaysAnAnswerForAnAllowedPath() throws Exception {
    agent().write("/workspace/there", "x");
    assertThat(agent().get("/files/exists" + TestAgent.query("/workspace/there")).flag("exists"))
        .isTrue();
    for (String path : List.of("/workspace/not", "/workspace/there/below", "/nonexistent/x")) {
      Reply reply = agent().get("/files/exists" + TestAgent.query(path));
      assertThat(reply.status()).isEqualTo(200);
      assertThat(reply.flag("exists")).isFalse();
      assertThat(reply.text("path")).isEqualTo(path);
    }
    assertThat(agent().get("/files/exists").status()).isEqualTo(400);
  }

  @Test
  void linksAreJudgedByWhereTheyEnd() throws Exception {
    agent()
        .shell(
            "ln -s /etc /workspace/etc; ln -s /tmp /workspace/temporary; echo in > /tmp/in; echo s > /opt/outside");

    refused(read("/workspace/etc/passwd"), 403, "PATH_NOT_ALLOWED", "/workspace/etc/passwd");
    refused(
        agent().write("/workspace/etc/new", "x"), 403, "PATH_NOT_ALLOWED", "/workspace/etc/new");
    assertThat(read("/workspace/temporary/in").text("content")).isEqualTo("in\n");
    refused(read("/etc/passwd"), 403, "PATH_NOT_ALLOWED", "/etc/passwd");
    assertThat(read("/etc/passwd").text("message")).isEqualTo("Path not allowed: /etc/passwd");
    refused(read("/etc/group"), 403, "PATH_NOT_ALLOWED", "/etc/group");
    refused(agent().write("/opt/not/there", "x"), 403, "PATH_NOT_ALLOWED", "/opt/not/there");
    assertThat(remove("/workspace/etc").status()).as("the link itself").isEqualTo(200);
    assertThat(agent().shell("test -f /etc/passwd").flag("success")).isTrue();
  }

  @Test
  void invalidPathsAreRefused() throws Exception {
    assertThat(read("/workspace/a\0b").text("code")).isEqualTo("INVALID_PATH");
    assertThat(agent().write("/workspace/\0x", "x").text("code")).isEqualTo("INVALID_PATH");
    assertThat(read("/workspace/" + "x".repeat(300)).text("code")).isEqualTo("INVALID_PATH");
    assertThat(read("/workspace/" + "x/".repeat(3000)).text("code")).isEqualTo("INVALID_PATH");
    assertThat(agent().get("/files/read").text("code")).isEqualTo("MISSING_PARAMETER");
  }

  @Test
  void overwriteFalseKeepsAFile() throws Exception {
    agent().write("/workspace/kept", "old");
    Reply reply =
        agent()
            .post(
                "/files/write",
                Map.of("path", "/workspace/kept", "content", "new", "overwrite", false));

    refused(reply, 409, "FILE_ALREADY_EXISTS", "/workspace/kept");
    assertThat(read("/workspace/kept").text("content")).isEqualTo("old");
    assertThat(
            agent()
                .post(
                    "/files/write",
                    Map.of("path", "/workspace/fresh", "content", "new", "overwrite", false))
                .status())
        .isEqualTo(200);
  }

  @Test
  void aFullDiskIs507AndLeavesNothing() throws Exception {
    Reply reply = agent().write("/workspace/.full/big", "x".repeat(9 << 20));

    refused(reply, 507, "DISK_FULL", "/workspace/.full/big");
    assertThat(agent().shell("ls -A /workspace/.full").text("stdout")).isEmpty();
    assertThat(upload("path", "/workspace/.full/up", "file", "f", random(9 << 20)).status())
        .isEqualTo(507);
    assertThat(agent().shell("ls -A /workspace/.full").text("stdout")).isEmpty();
  }

  @Test
  void uploadsTakeTheirPartsInAnyOrder() throws Exception {
    for (int size :
        new int[] {
          0,
          1,
          18_000,
          FileUploadEndpoint.MAX_IN_MEMORY,
          FileUploadEndpoint.MAX_IN_MEMORY + 1,
          5 << 20
        }) {
      byte[] bytes = random(size);
      Reply first = upload("path", "/workspace/uploads/first", "file", "f", bytes);
      assertThat(first.status()).as(first.body()).isEqualTo(200);
      assertThat(first.number("size")).isEqualTo(size);
      Reply last = upload("file", "f", bytes, "mode", "0600", "path", "/workspace/uploads/last");
      assertThat(last.status()).as(last.body()).isEqualTo(200);
      assertThat(last.number("size")).isEqualTo(size);
      assertThat(last.text("path")).isEqualTo("/workspace/uploads/last");
      assertThat(download("/workspace/uploads/first").bytes()).isEqualTo(bytes);
      assertThat(download("/workspace/uploads/last").bytes()).isEqualTo(bytes);
    }
    assertThat(entry("/workspace/uploads", "last").get("mode").stringValue()).isEqualTo("0600");
    assertThat(agent().shell("ls -A /tmp | grep hopx-upload").text("stdout")).isEmpty();
  }

  @Test
  void anUploadNeedsAFileAndKnowsWhereToPutIt() throws Exception {
    byte[] bytes = random(10);
    assertThat(upload("path", "/workspace/x").text("message")).contains("'file'");
    assertThat(upload("file", "named.bin", bytes).text("path")).isEqualTo("/workspace/named.bin");
    assertThat(upload("file", "n.bin", bytes, "path", "/workspace/into/").text("path"))
        .isEqualTo("/workspace/into/n.bin");
    assertThat(upload("file", "../../etc/up", bytes).text("path")).isEqualTo("/workspace/up");
    assertThat(upload("path", "/etc/up", "file", "f", bytes).status()).isEqualTo(403);
    assertThat(upload("file", "f", random(2 << 20), "path", "/etc/up").status()).isEqualTo(403);
    assertThat(upload("file", "f", bytes, "file", "g", bytes).status()).isEqualTo(400);
    assertThat(
            upload("path", "x".repeat(FileUploadEndpoint.MAX_TEXT_PART + 1), "file", "f", bytes)
                .status())
        .isEqualTo(400);
    upload("path", "/workspace/kept2", "file", "f", bytes);
    assertThat(
            upload("path", "/workspace/kept2", "overwrite", "false", "file", "f", bytes).status())
        .isEqualTo(409);
    assertThat(agent().post("/files/upload", Map.of()).status()).isEqualTo(415);
    assertThat(agent().shell("ls -A /tmp | grep hopx-upload").text("stdout")).isEmpty();
  }

  @Test
  void downloadsKnowRangesAndTags() throws Exception {
    byte[] bytes = random(1000);
    writeBytes("/workspace/ranged", bytes);
    Reply whole = download("/workspace/ranged");
    String tag = whole.headers().firstValue("ETag").orElseThrow();
    assertThat(whole.headers().firstValue("Accept-Ranges")).hasValue("bytes");

    Reply middle = download("/workspace/ranged", "Range", "bytes=10-19");
    assertThat(middle.status()).isEqualTo(206);
    assertThat(middle.bytes()).isEqualTo(Arrays.copyOfRange(bytes, 10, 20));
    assertThat(middle.headers().firstValue("Content-Range")).hasValue("bytes 10-19/1000");
    assertThat(download("/workspace/ranged", "Range", "bytes=990-").bytes())
        .isEqualTo(Arrays.copyOfRange(bytes, 990, 1000));
    assertThat(download("/workspace/ranged", "Range", "bytes=-5").bytes())
        .isEqualTo(Arrays.copyOfRange(bytes, 995, 1000));
    assertThat(download("/workspace/ranged", "Range", "bytes=0-1,5-6").bytes()).isEqualTo(bytes);
    Reply beyond = download("/workspace/ranged", "Range", "bytes=1000-");
    assertThat(beyond.status()).isEqualTo(416);
    assertThat(beyond.headers().firstValue("Content-Range")).hasValue("bytes */1000");
    assertThat(download("/workspace/ranged", "If-None-Match", tag).status()).isEqualTo(304);
    assertThat(
            download("/workspace/ranged", "Range", "bytes=0-0", "If-Range", "\"other\"").status())
        .isEqualTo(200);
    assertThat(download("/workspace/missing", "Range", "bytes=0-0").status()).isEqualTo(404);
    assertThat(download("/workspace", "Range", "bytes=0-0").status()).isEqualTo(400);
    writeBytes("/workspace/ranged", random(999));
    assertThat(download("/workspace/ranged", "If-None-Match", tag).status()).isEqualTo(200);
  }

  @Test
  void thePythonClientsTrapIsDisarmed() throws Exception {
    agent().write("/workspace/trap", "abcd1234");

    Reply python = download("/workspace/trap", "User-Agent", "python-httpx/0.27", "Accept", "*/*");
    assertThat(Base64.getDecoder().decode(python.bytes()))
        .isEqualTo("abcd1234".getBytes(StandardCharsets.UTF_8));
    assertThat(
            download(
                    "/workspace/trap",
                    "User-Agent",
                    "python-httpx/0.27",
                    "Accept",
                    "application/octet-stream")
                .body())
        .isEqualTo("abcd1234");
    assertThat(download("/workspace/trap", "User-Agent", "curl/8", "Accept", "*/*").body())
        .isEqualTo("abcd1234");
    agent().write("/workspace/trap", "no base64!");
    assertThat(
            download("/workspace/trap", "User-Agent", "python-httpx/0.27", "Accept", "*/*").body())
        .isEqualTo("no base64!");
  }

  @ParameterizedTest
  @CsvSource({"0", "1", "18432", "1048576", "20971520"})
  void roundTripsOfManySizes(int size) throws Exception {
    byte[] bytes = random(size);
    assertThat(writeBytes("/tmp/round", bytes).number("size")).isEqualTo(size);
    assertThat(download("/tmp/round").bytes()).isEqualTo(bytes);
    Reply read = read("/tmp/round");
    assertThat(read.number("size")).isEqualTo(size);
  }

  @Test
  void readHasALimitAndStaysWithinMemory() throws Exception {
    agent().shell("truncate -s " + FileReadEndpoint.MAX_SIZE + " /tmp/largest");
    assertThat(agent().length("/files/read" + TestAgent.query("/tmp/largest")))
        .as("each NUL is six characters")
        .isGreaterThan(6L * FileReadEndpoint.MAX_SIZE);

    agent().shell("truncate -s " + (FileReadEndpoint.MAX_SIZE + 1) + " /tmp/largest");
    refused(read("/tmp/largest"), 413, "PAYLOAD_TOO_LARGE", "/tmp/largest");
    agent().shell("rm /tmp/largest");
  }

  @Test
  void tenThousandEntriesAreListed() throws Exception {
    agent().shell("mkdir /tmp/many; cd /tmp/many; seq 10000 | xargs touch");

    Reply reply = list("/tmp/many");

    assertThat(reply.number("count")).isEqualTo(10_000);
    assertThat(reply.json().get("files")).hasSize(10_000);
    assertThat(remove("/tmp/many").status()).isEqualTo(200);
  }
}
