#!/usr/bin/env python3
"""Runs unmodified clients, each for a whole turn, through `coder proxy` in front of a model without function calling.

usage: .ci/agents.py CODER NODE_FOLDER VENV. `.ci/agents` installs the clients. Every client must change a file. Codex and Claude Code
also do ten tasks, first with calls as text and then with a model that calls natively. Calls as text may cost at most 1.5 times the tokens.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "agents.d"))
import model  # noqa: E402
import tasks  # noqa: E402

SCRIPTS = pathlib.Path(__file__).parent / "agents.d"
coder, node, venv = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
scratch = pathlib.Path(tempfile.mkdtemp())
failed = []


def proxy(upstream):
    """Starts `coder proxy` and returns its process and its address."""
    process = subprocess.Popen([coder, "proxy", "--upstream", f"{upstream}/v1", "--listen", "127.0.0.1:0"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        if found := re.search(r"http://127[^ ,/]*", line):
            return process, found[0]
    raise SystemExit("the proxy did not start")


def environment(name, address):
    home = scratch / f"home-{name}"
    home.mkdir(exist_ok=True)
    openai = address + "/v1"
    return {"PATH": os.environ["PATH"], "HOME": str(home), "NO_COLOR": "1", "OPENAI_BASE_URL": openai, "OPENAI_API_KEY": "none",
            "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "AI_SDK_LOG_WARNINGS": "false"}


def run(name, command, folder, address):
    """Runs a client. Returns whether it succeeded, its output, and its duration in seconds."""
    began = time.monotonic()
    done = subprocess.run([str(part) for part in command], cwd=folder, env=environment(name, address), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180)
    return done.returncode == 0, done.stdout, time.monotonic() - began


def project(files):
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def codex(address, name="codex"):
    home = scratch / "home-codex" / ".codex"
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(
        f'model_provider = "text"\n[model_providers.text]\nname = "text"\nbase_url = "{address}/v1"\nwire_api = "responses"\n'
        'env_key = "OPENAI_API_KEY"\n')
    return [node / "node_modules/.bin/codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
            "-m", name, "Do the task."]


def claude(_, name="claude"):
    return [node / "node_modules/.bin/claude", "-p", "Do the task.", "--model", name, "--dangerously-skip-permissions"]


def opencode(address, folder):
    (folder / "opencode.json").write_text(json.dumps({
        "provider": {"text": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{address}/v1", "apiKey": "none"},
                              "models": {"opencode": {}}}},
        "model": "text/opencode", "share": "disabled", "autoupdate": False}))
    return [node / "node_modules/.bin/opencode", "run", "Do the task."]


def cline(address, _):
    binary = node / "node_modules/.bin/cline"
    subprocess.run([binary, "auth", "-p", "openai", "-k", "none", "-b", f"{address}/v1", "-m", "cline"], check=True,
                   env=environment("cline", address), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60)
    return [binary, "-P", "openai", "-m", "cline", "--json", "Do the task."]


def clients(address):
    """Yields for each client its name, the name of its script, its command in a project, the calls of its script, and the changed file."""
    python = venv / "bin/python3"
    note = [[("write_note", {"path": "note.txt", "text": "hi\n"})]]
    for name, command in [
        ("openai-python, Chat Completions", [python, SCRIPTS / "openai_chat.py"]),
        ("openai-node, Responses", ["node", node / "openai_responses.mjs"]),
        ("openai-agents, Responses", [python, SCRIPTS / "openai_agents.py"]),
        ("anthropic-python, tool runner", [python, SCRIPTS / "anthropic_runner.py"]),
        ("anthropic-js, tool runner", ["node", node / "anthropic_runner.mjs"]),
        ("ai-sdk openai, Responses", ["node", node / "ai_sdk.mjs", "openai", f"{address}/v1"]),
        ("ai-sdk anthropic, Messages", ["node", node / "ai_sdk.mjs", "anthropic", f"{address}/v1"]),
    ]:
        yield name, "sdk", lambda _, command=command: command, lambda _: note, ("note.txt", "hi\n")
    edited = ("a.txt", "ONE\n")
    yield ("codex exec", "codex", lambda folder: codex(address), lambda folder: [
        [("exec_command", {"cmd": "cat a.txt"})], [("exec_command", {"cmd": "sed -i s/one/ONE/ a.txt"})]], edited)
    yield ("claude -p", "claude", lambda folder: claude(address), lambda folder: [
        [("Read", {"file_path": f"{folder}/a.txt"})],
        [("Edit", {"file_path": f"{folder}/a.txt", "old_string": "one", "new_string": "ONE"})]], edited)
    yield ("opencode run", "opencode", lambda folder: opencode(address, folder), lambda folder: [
        [("read", {"filePath": f"{folder}/a.txt"})],
        [("edit", {"filePath": f"{folder}/a.txt", "oldString": "one", "newString": "ONE"})]], edited)
    yield ("qwen -p", "qwen", lambda folder: [node / "node_modules/.bin/qwen", "--auth-type", "openai", "--model", "qwen", "--yolo",
                                              "-p", "Do the task."], lambda folder: [
        [("read_file", {"file_path": f"{folder}/a.txt"})],
        [("edit", {"file_path": f"{folder}/a.txt", "old_string": "one", "new_string": "ONE"})]], edited)
    yield ("cline", "cline", lambda folder: cline(address, folder), lambda folder: [
        [("read_files", {"files": [{"path": f"{folder}/a.txt"}]})],
        [("editor", {"path": f"{folder}/a.txt", "old_text": "one", "new_text": "ONE"})]], edited)


def every_client():
    scripts = {}
    upstream, counter = model.start(model.Talker, scripts)
    process, address = proxy(upstream)
    for name, script, command, calls, (path, wanted) in clients(address):
        folder = project({"a.txt": "one\n"})
        scripts[script] = [*calls(folder), "All done."]
        counter.reset()
        succeeded, output, seconds = run(script, command(folder), folder, address)
        changed = (folder / path).exists() and (folder / path).read_text() == wanted
        right = succeeded and changed and "All done." in output
        count = sum(map(len, calls(folder)))
        print(f"{'ok    ' if right else 'FAILED'} {name:34} {count} calls, {counter.requests} requests, largest "
              f"{counter.largest / 1000:.1f} KB, {seconds:.1f} s", flush=True)
        if not right:
            print(output[-2000:])
            failed.append(name)
    process.kill()


def ten_tasks(name, client, tools, native):
    scripts = {}
    upstream, text = model.start(model.Talker, scripts)
    direct, calls = model.start(native, scripts)
    process, address = proxy(upstream)
    totals = [0, 0]
    for title, steps, wanted in tasks.TASKS:
        for at, (place, counter) in enumerate([(address, text), (direct, calls)]):
            folder = project(tasks.FILES)
            scripts[name] = steps(tools(folder))
            counter.reset()
            succeeded, output, _ = run(name, client(place), folder, place)
            totals[at] += counter.bytes
            wrong = [path for path, content in wanted.items()
                     if not (folder / path).exists() or (folder / path).read_text() != content]
            if not succeeded or wrong or scripts[name][-1] not in output:
                print(f"FAILED {name}, {title}, {'natively' if at else 'as text'}: {wrong}\n{output[-2000:]}")
                failed.append(f"{name}: {title}")
    ratio = totals[0] / totals[1]
    print(f"{name}: {len(tasks.TASKS)} tasks, {totals[0] / 4000:.0f} thousand tokens as text, {totals[1] / 4000:.0f} natively: "
          f"{ratio:.2f} times", flush=True)
    if ratio > 1.5:
        failed.append(f"{name}: tokens")
    process.kill()


every_client()
ten_tasks("codex", codex, tasks.Codex, model.Responses)
ten_tasks("claude", claude, tasks.Claude, model.Messages)
sys.exit(f"failed: {failed}" if failed else 0)
