"""The main job through the official Python SDK; one line `ok STEP` for each step that held.

Works with the oldest and the newest published version, so it uses only what both have.
"""

import os
import sys

from hopx_ai import Sandbox
import hopx_ai.errors as errors

BASE_URL = os.environ["HOPX_BASE_URL"]
API_KEY = os.environ["HOPX_API_KEY"]


def step(name, condition, shown=""):
    if not condition:
        print(f"FAILED {name}: {shown!r}", flush=True)
        sys.exit(1)
    print(f"ok {name}", flush=True)


def create(**options):
    return Sandbox.create(api_key=API_KEY, base_url=BASE_URL, **options)


def languages(sandbox):
    result = sandbox.run_code("print('hello from python')")
    step("python", result.success and result.stdout == "hello from python\n", result)
    result = sandbox.run_code("console.log([1, 2, 3].map(x => x * 2).join())", language="javascript")
    step("javascript", result.success and result.stdout == "2,4,6\n", result)
    result = sandbox.run_code("for i in 1 2 3; do echo -n $i; done", language="bash")
    step("bash", result.success and result.stdout == "123", result)
    code = 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello from go") }\n'
    result = sandbox.run_code(code, language="go", timeout=110)
    step("go", result.success and result.stdout == "hello from go\n", result)
    result = sandbox.run_code("1/0")
    step(
        "user error is a result",
        not result.success and result.exit_code == 1 and "ZeroDivisionError" in result.stderr,
        result,
    )
    result = sandbox.run_code("import time\nprint('partial', flush=True)\ntime.sleep(30)", timeout=2)
    step(
        "time-out is a result",
        not result.success and result.exit_code == 124 and result.stdout == "partial\n",
        result,
    )
    result = sandbox.run_code("import os; print(os.environ['SECRET'])", env={"SECRET": "for one run"})
    step("env of one run", result.stdout == "for one run\n", result)


def commands(sandbox):
    result = sandbox.commands.run("echo out; echo err >&2; exit 7")
    step(
        "command",
        result.stdout == "out\n" and result.stderr == "err\n" and result.exit_code == 7,
        result,
    )
    result = sandbox.commands.run("cat /proc/sys/kernel/hostname")
    step("host name is the sandbox id", result.stdout.strip() == sandbox.sandbox_id, result)


def files(sandbox):
    sandbox.files.write("/workspace/a.txt", "one\ntwo\n")
    step("write and read text", sandbox.files.read("/workspace/a.txt") == "one\ntwo\n")
    blob = bytes(range(256)) * 1000
    sandbox.files.write_bytes("/workspace/blob.bin", blob)
    step("write and read bytes", sandbox.files.read_bytes("/workspace/blob.bin") == blob)
    sandbox.files.write("/workspace/new/dir/あ b.txt", "ünïcödé 🤣")
    step("odd name", sandbox.files.read("/workspace/new/dir/あ b.txt") == "ünïcödé 🤣")
    names = sorted(entry.name for entry in sandbox.files.list("/workspace"))
    step("list", {"a.txt", "blob.bin", "new"} <= set(names), names)
    entry = [entry for entry in sandbox.files.list("/workspace") if entry.name == "a.txt"][0]
    step("list entry", entry.size == 8 and not entry.is_directory, entry)
    step("exists", sandbox.files.exists("/workspace/a.txt"))
    sandbox.files.mkdir("/workspace/made/deep")
    step("mkdir", sandbox.files.exists("/workspace/made/deep"))
    sandbox.files.remove("/workspace/a.txt")
    step("remove", not sandbox.files.exists("/workspace/a.txt"))
    local = os.path.join(os.environ["HOPX_TEST_DIRECTORY"], "upload.bin")
    with open(local, "wb") as file:
        file.write(blob)
    sandbox.files.upload(local, "/workspace/up.bin")
    sandbox.files.download("/workspace/up.bin", local + ".back")
    with open(local + ".back", "rb") as file:
        step("upload and download", file.read() == blob)
    try:
        sandbox.files.read("/workspace/missing.txt")
        step("missing file", False)
    except errors.FileNotFoundError as error:
        step("missing file", True, error)
    try:
        sandbox.files.read("/etc/passwd")
        step("forbidden path", False)
    except errors.FileOperationError as error:
        step("forbidden path", True, error)


def environment(sandbox):
    step("env is not empty", "PATH" in sandbox.env.get_all())
    sandbox.env.set_all({"A": "1", "B": "2"})
    sandbox.env.update({"B": "3", "C": "x y"})
    result = sandbox.run_code("import os; print(os.environ['A'], os.environ['B'], os.environ['C'])")
    step("env set and merged", result.stdout == "1 3 x y\n", result)
    result = sandbox.commands.run("echo $A$B")
    step("env in commands", result.stdout == "13\n", result)
    sandbox.env.set_all({"ONLY": "1"})
    result = sandbox.commands.run("echo [$A][$ONLY]")
    step("env replaced", result.stdout == "[][1]\n", result)


def control_plane():
    names = [template.name for template in Sandbox.list_templates(api_key=API_KEY, base_url=BASE_URL)]
    step("templates", "code-interpreter" in names, names)
    template = Sandbox.get_template("code-interpreter", api_key=API_KEY, base_url=BASE_URL)
    step("template id", template.id == "73", template)
    try:
        create(template_id="no-such-template")
        step("unknown template", False)
    except errors.NotFoundError as error:
        step("unknown template", True, error)
    try:
        Sandbox.create(template="code-interpreter", api_key="hopx_live_wrong.key", base_url=BASE_URL)
        step("wrong key", False)
    except errors.AuthenticationError as error:
        step("wrong key", True, error)


def main():
    control_plane()
    sandbox = create(template="code-interpreter", env_vars={"CREATED": "with"}, timeout_seconds=600)
    try:
        info = sandbox.get_info()
        step("running", info.status == "running", info)
        result = sandbox.commands.run("echo $CREATED")
        step("env of creation", result.stdout == "with\n", result)
        languages(sandbox)
        commands(sandbox)
        files(sandbox)
        environment(sandbox)
        again = Sandbox.connect(sandbox.sandbox_id, api_key=API_KEY, base_url=BASE_URL)
        step("connect", again.files.exists("/workspace/up.bin"))
        listed = [box.sandbox_id for box in Sandbox.list(api_key=API_KEY, base_url=BASE_URL)]
        step("listed", sandbox.sandbox_id in listed, listed)
    finally:
        sandbox.kill()
    try:
        sandbox.get_info()
        step("gone after kill", False)
    except errors.NotFoundError:
        step("gone after kill", True)
    with create(template="base") as other:
        result = other.commands.run("echo base")
        step("with statement", result.stdout == "base\n", result)
    print("all held")


main()
