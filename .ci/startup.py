#!/usr/bin/env python3
"""Measures how long terminal agents take until the user can type, and the memory they use then, as one table.

    .ci/startup.py CODER [FOLDER]

CODER is the program built with --release. The peers come from the registries of Python and Node and are installed in FOLDER (default:
target/startup), in the versions below. All programs use a stub server. The table has the medians of RUNS runs for each program:

- version: the time that `--version` takes, in ms
- first: the time to the first byte on the terminal, in ms
- ready: the time to the last byte before the terminal is silent for a second, in ms
- memory: the memory of all its processes at that time, with shared pages divided among them (PSS), in MB
"""

import fcntl
import http.server
import json
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

RUNS = 5
PEERS = {"gptme": "gptme==0.35.1", "aider": "aider-chat==0.86.2", "codex": "@openai/codex@0.169.0", "opencode": "opencode-ai@1.18.33"}
SILENCE, LONGEST = 1.0, 60.0


class Stub(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def install(folder):
    """Installs the peers that are missing. Returns the paths of their programs by name."""
    os.makedirs(folder, exist_ok=True)
    programs = {}
    for name in ("gptme", "aider"):
        home = os.path.join(folder, name)
        programs[name] = os.path.join(home, "bin", name)
        if not os.path.exists(programs[name]):
            subprocess.run([sys.executable, "-m", "venv", home], check=True)
            subprocess.run([os.path.join(home, "bin/pip"), "install", "--quiet", PEERS[name]], check=True)
    node = os.path.join(folder, "node")
    for name in ("codex", "opencode"):
        programs[name] = os.path.join(node, "node_modules/.bin", name)
        if not os.path.exists(programs[name]):
            os.makedirs(node, exist_ok=True)
            subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", node, PEERS[name]], check=True)
    return programs


def commands(coder, programs, base):
    codex = ["-c", 'model_provider="stub"', "-c", f'model_providers.stub={{name="stub",base_url="{base}",wire_api="responses"}}', "-m", "m"]
    aider = ["--model", "openai/m", "--openai-api-base", base, "--openai-api-key", "x", "--no-check-update", "--no-show-model-warnings",
             "--no-git", "--analytics-disable", "--no-gitignore", "--no-show-release-notes"]
    return {
        "coder": [coder, "--base-url", base, "--model", "m"],
        "gptme": [programs["gptme"], "--model", "local/m"],
        "aider": [programs["aider"], *aider],
        "codex": [programs["codex"], *codex],
        "opencode": [programs["opencode"]],
    }


def fresh(name, run):
    """Returns the options that start a new conversation, for a program that would ask about it."""
    return ["--name", f"run{run}"] if name == "gptme" else []


def tree(root):
    """Returns the process and all of its descendants."""
    children = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                children.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(entry))
        except OSError:
            pass
    found, ahead = [], [root]
    while ahead:
        found.append(ahead.pop())
        ahead += children.get(found[-1], [])
    return found


def memory(root):
    total = 0
    for process in tree(root):
        try:
            with open(f"/proc/{process}/smaps_rollup") as file:
                total += int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M).group(1))
        except (OSError, AttributeError):
            pass
    return total / 1024


def begin(command, env, folder):
    """Starts a program in a terminal. Returns the time to the first byte, the time until it is ready, and its memory."""
    started = time.perf_counter()
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execve(command[0], command, env)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    first = last = None
    while time.perf_counter() - started < LONGEST:
        wait = SILENCE if last is None else max(0.0, last + SILENCE - time.perf_counter())
        readable, _, _ = select.select([terminal], [], [], wait)
        now = time.perf_counter()
        if readable:
            try:
                written = os.read(terminal, 65536)
            except OSError:
                break
            first, last = first or now, now
            # A program that queries the position of the cursor or the attributes of the terminal waits for the response.
            if b"\x1b[6n" in written:
                os.write(terminal, b"\x1b[1;1R")
            if b"\x1b[c" in written:
                os.write(terminal, b"\x1b[?62c")
        elif last is not None:
            break
    used = memory(process)
    for member in reversed(tree(process)):
        try:
            os.kill(member, signal.SIGKILL)
        except OSError:
            pass
    os.waitpid(process, 0)
    os.close(terminal)
    if last is None:
        raise SystemExit(f"{command[0]} wrote nothing in {LONGEST:.0f} s")
    return (first - started) * 1000, (last - started) * 1000, used


def main():
    coder = os.path.abspath(sys.argv[1])
    programs = install(os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else "target/startup"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}/v1"
    print("| program | version | first | ready | memory |\n|---|---:|---:|---:|---:|")
    for name, command in commands(coder, programs, base).items():
        with tempfile.TemporaryDirectory() as home:
            folder = os.path.join(home, "project")
            os.mkdir(folder)
            env = {"PATH": os.environ["PATH"], "HOME": home, "TERM": "xterm-256color", "LANG": "C.UTF-8", "OPENAI_API_KEY": "x",
                   "OPENAI_BASE_URL": base, "OPENAI_API_BASE": base}
            versions = []
            for _ in range(RUNS + 1):
                started = time.perf_counter()
                subprocess.run([command[0], "--version"], env=env, cwd=folder, capture_output=True, check=True)
                versions.append((time.perf_counter() - started) * 1000)
            # The first run is left out, because it fills caches and creates folders.
            begins = [begin([*command, *fresh(name, run)], env, folder) for run in range(RUNS + 1)][1:]
            middle = [statistics.median(values) for values in ([*versions[1:]], *zip(*begins))]
            print(f"| {name} | {middle[0]:.1f} | {middle[1]:.0f} | {middle[2]:.0f} | {middle[3]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
