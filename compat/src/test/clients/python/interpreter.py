"""The persistent interpreter and its rich output through the official Python SDK."""

import base64
import os
import sys

from hopx_ai import Sandbox


def step(name, condition, shown=""):
    if not condition:
        print(f"FAILED {name}: {shown!r}", flush=True)
        sys.exit(1)
    print(f"ok {name}", flush=True)


def kind(output):
    """Newer versions give an enum, older ones a string."""
    return getattr(output.type, "value", output.type)


def kinds(result):
    return [kind(output) for output in result.rich_outputs or []]


def state(sandbox):
    sandbox.run_code("x = 20\nimport math")
    result = sandbox.run_code("print(x + math.floor(2.5))")
    step("python state persists", result.stdout == "22\n", result)
    sandbox.run_code("const n = 20", language="javascript")
    result = sandbox.run_code("const m = n + 2; console.log(m)", language="javascript")
    step("javascript state persists", result.stdout == "22\n", result)
    result = sandbox.run_code("def f():\n    return 1 / 0\nf()")
    step(
        "an error is a result",
        not result.success and "ZeroDivisionError" in result.stderr and "hopx" not in result.stderr,
        result,
    )
    result = sandbox.run_code("while True: pass", timeout=2)
    step("time-out", not result.success and result.exit_code == 124, result)
    result = sandbox.run_code("print(x)")
    step("usable after the time-out, with its state", result.stdout == "20\n", result)
    sandbox.env.set("SEEN", "by the interpreter")
    result = sandbox.run_code("import os; print(os.environ['SEEN'])")
    step("a changed variable is seen", result.stdout == "by the interpreter\n", result)
    result = sandbox.run_code(
        "import unittest\nclass T(unittest.TestCase):\n"
        "  def test(self): self.assertEqual(1, 1)\n"
        "if __name__ == '__main__':\n  unittest.main()"
    )
    step("unittest.main ends the run only", result.success, result)


def pause(sandbox):
    """Case E7."""
    sandbox.run_code("paused_at = 20")
    sandbox.run_code("let pausedAt = 20", language="javascript")
    sandbox.pause()
    sandbox.resume()
    result = sandbox.run_code("print(paused_at + 2)")
    step("python state persists over a pause", result.stdout == "22\n", result)
    result = sandbox.run_code("console.log(pausedAt + 2)", language="javascript")
    step("javascript state persists over a pause", result.stdout == "22\n", result)


def rich(sandbox):
    result = sandbox.run_code(
        "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\n"
        "plt.savefig('/tmp/plot.png')\nplt.show()",
        timeout=60,
    )
    images = [output.data["image/png"] for output in result.rich_outputs if kind(output) == "image/png"]
    step("matplotlib gives a PNG", len(images) == 1, kinds(result))
    step("the PNG is one", base64.b64decode(images[0]).startswith(b"\x89PNG\r\n"), images[0][:20])
    result = sandbox.run_code(
        "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\nprint(df)", timeout=60
    )
    step("print(df) gives text", "a" in result.stdout, result)
    tables = [output.data["text/html"] for output in result.rich_outputs if kind(output) == "text/html"]
    step("print(df) gives HTML", len(tables) == 1 and "<table" in tables[0], kinds(result))
    result = sandbox.run_code("df")
    step("a last DataFrame gives HTML", "text/html" in kinds(result), kinds(result))
    result = sandbox.run_code("print('plain')")
    step("plain text gives nothing rich", not result.rich_outputs, kinds(result))


def memory(sandbox):
    sandbox.run_code("y = 1")
    result = sandbox.run_code("hog = bytearray(1 << 33)\nfor i in range(0, len(hog), 4096): hog[i] = 1")
    step("too much memory is a result", not result.success, result)
    step("and its reason is told", "Out of memory" in result.stderr, result)
    result = sandbox.run_code("import numpy; print(numpy.arange(3).sum())", timeout=60)
    step("the next run works", result.stdout == "3\n", result)


sandbox = Sandbox.create(
    template="code-interpreter",
    api_key=os.environ["HOPX_API_KEY"],
    base_url=os.environ["HOPX_BASE_URL"],
)
try:
    state(sandbox)
    pause(sandbox)
    rich(sandbox)
    memory(sandbox)
finally:
    sandbox.kill()
print("all held", flush=True)
