"""Pause, resume, stop and start through the official Python SDK; one line `ok STEP` each.

Works with the oldest and the newest published version. Stop and start have no method there: the
documented requests are sent as they are.
"""

import json
import os
import sys
import time
import urllib.request

import hopx_ai.errors as errors
from hopx_ai import Sandbox

BASE_URL = os.environ["HOPX_BASE_URL"]
API_KEY = os.environ["HOPX_API_KEY"]


def step(name, condition, shown=""):
    if not condition:
        print(f"FAILED {name}: {shown!r}", flush=True)
        sys.exit(1)
    print(f"ok {name}", flush=True)


def connect(sandbox):
    return Sandbox.connect(sandbox.sandbox_id, api_key=API_KEY, base_url=BASE_URL)


def post(sandbox, move):
    request = urllib.request.Request(
        f"{BASE_URL}/v1/sandboxes/{sandbox.sandbox_id}/{move}",
        method="POST",
        headers={"X-API-Key": API_KEY},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def output(sandbox, command):
    return sandbox.commands.run(command).stdout


def paused_is_refused(sandbox):
    # The first use of an agent polls its health for 45 s, whatever the answer is.
    step("works", output(sandbox, "echo on") == "on\n")
    sandbox.pause()
    step("paused at once", sandbox.get_info().status == "paused")
    begin = time.monotonic()
    try:
        sandbox.commands.run("true")
        step("agent is unavailable", False)
    except errors.HopxError as error:
        step("agent is unavailable", "paused" in str(error), str(error))
    step("refused at once", time.monotonic() - begin < 5)
    again = connect(sandbox)
    step("connect resumes", again.get_info().status == "running")
    step("and works", output(again, "echo on") == "on\n")
    again.resume()
    step("resume of a running one", again.get_info().status == "running")


def twenty_cycles(sandbox):
    """Case F1."""
    sandbox.commands.run("(sleep 900 >/dev/null 2>&1 &); (python3 -m http.server 7999 >/dev/null 2>&1 &)")
    pids = output(sandbox, "pgrep -x sleep; pgrep -f http.server | head -1")
    for i in range(20):
        sandbox.files.write(f"/workspace/file_{i}", str(i))
        sandbox.pause()
        sandbox.resume()
    kept = [sandbox.files.read(f"/workspace/file_{i}") for i in range(20)]
    step("twenty files", kept == [str(i) for i in range(20)], kept)
    step("same pids", output(sandbox, "pgrep -x sleep; pgrep -f http.server | head -1") == pids, pids)
    listening = output(sandbox, "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:7999/")
    step("server goes on", listening == "200", listening)


def no_gap(sandbox):
    """Case F4."""
    for _ in range(50):
        sandbox.pause()
        sandbox.resume()
    step("fifty without a gap", output(sandbox, "echo on") == "on\n")


def clock(sandbox):
    """Case F19."""
    sandbox.pause()
    time.sleep(5)
    sandbox.resume()
    difference = abs(float(output(sandbox, "date +%s.%N")) - time.time())
    step("right time after a pause", difference < 1, difference)


def stop_and_start(sandbox):
    sandbox.files.write("/workspace/kept", "yes")
    sandbox.env.set_all({"KEPT": "value"})
    reply = post(sandbox, "stop")
    step("stopped", reply["status"] == "stopped" and reply["id"] == sandbox.sandbox_id, reply)
    step("stopped at once", sandbox.get_info().status == "stopped")
    try:
        connect(sandbox)
        step("connect to a stopped one", False)
    except errors.HopxError as error:
        step("connect to a stopped one", "stopped" in str(error), str(error))
    reply = post(sandbox, "start")
    step("started", reply["status"] == "running", reply)
    step("file kept", sandbox.files.read("/workspace/kept") == "yes")
    step("env kept", output(sandbox, "echo $KEPT") == "value\n")
    left = output(sandbox, "pgrep -x sleep; pgrep -f [h]ttp.server; true")
    step("processes are gone", left == "", left)


def main():
    sandbox = Sandbox.create(
        template="code-interpreter", api_key=API_KEY, base_url=BASE_URL, timeout_seconds=600
    )
    try:
        paused_is_refused(sandbox)
        twenty_cycles(sandbox)
        no_gap(sandbox)
        clock(sandbox)
        stop_and_start(sandbox)
        sandbox.pause()
    finally:
        sandbox.kill()
    try:
        sandbox.get_info()
        step("killed while paused", False)
    except errors.NotFoundError:
        step("killed while paused", True)
    print("all held")


main()
