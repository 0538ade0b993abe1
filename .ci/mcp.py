#!/usr/bin/env python3
"""Calls official MCP servers through a built `coder`: trusting and listing servers, calls that read, write, fail, run long or return a
lot, images, files outside of a server's folder or blocked in it, a conversation, and the pipe.

usage: .ci/mcp.py CODER FOLDER     first install the servers with `npm install --global --prefix FOLDER`
"""
import base64
import json
import os
import subprocess
import sys
import tempfile
import threading

FENCE = "```"
PATIENCE = 60


def block(name, args):
    return f"{FENCE}tool\n{json.dumps({'name': name, 'args': args})}\n{FENCE}\n"


class Place:
    """A project, a folder next to it that the servers may use, and the user's settings."""

    def __init__(self, coder, servers, base):
        self.coder, self.base = coder, base
        self.project, self.data = base + "/project", base + "/data"
        for folder in (self.project, self.data, base + "/home/config/toolfence"):
            os.makedirs(folder)
        # The sandbox shows the folders of the PATH, and the library folders next to them.
        self.env = {
            "PATH": os.path.join(servers, "bin") + ":" + os.environ["PATH"],
            "HOME": base + "/home",
            "XDG_CONFIG_HOME": base + "/home/config",
            "XDG_STATE_HOME": base + "/home/state",
            "LANG": "C.UTF-8",
        }
        with open(base + "/home/config/toolfence/config.toml", "w", encoding="utf-8") as file:
            file.write(
                f"[mcp.files]\ncommand = {json.dumps(['mcp-server-filesystem', self.data, self.project])}\n"
                f"paths = {json.dumps([self.data])}\n"
                '[mcp.everything]\ncommand = ["mcp-server-everything", "stdio"]\n'
                'env = { GREETING = "good morning" }\n'
            )

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def run(self, args, text=""):
        done = subprocess.run(
            [self.coder, *args], input=text, env=self.env, cwd=self.project, capture_output=True, encoding="utf-8", timeout=PATIENCE
        )
        return done.returncode, done.stdout, done.stderr

    def call(self, name, **args):
        """Runs a call without a question and returns its result."""
        _, out, err = self.run(["exec", "--no-session", "--json", "--yes"], block(name, args))
        lines = [json.loads(line) for line in out.splitlines()]
        assert len(lines) == 1, (out, err)
        return lines[0]


def check(what, holds, details):
    if not holds:
        sys.exit(f"FAILED  {what}\n{details}")
    print(f"ok      {what}")


def gave(place, what, wanted, name, **args):
    result = place.call(name, **args)
    check(what, result["success"] and wanted in result["output"], result)
    return result


def failed(place, what, code, wanted, name, **args):
    result = place.call(name, **args)
    output = result["output"] + str(result["error"])
    check(what, not result["success"] and result["error"]["code"] == code and wanted in output, result)


def trust(place):
    def listed():
        return {one["name"]: one for one in json.loads(place.run(["mcp", "list", "--json"])[1])["servers"]}

    before = listed()
    check("both servers list their tools", all(one.get("tools") for one in before.values()) and len(before) == 2, before)
    check("both servers run in the sandbox", all(one["sandboxed"] for one in before.values()), before)
    check("no tool is left out", not any(one["notes"] for one in before.values()), before)
    check("new servers are not trusted", {one["state"] for one in before.values()} == {"untrusted"}, before)
    result = place.call("files.read_text_file", path=place.data + "/a.txt")
    check("no call reaches an untrusted server", result["error"]["code"] == "unknown_tool", result)
    status, out, err = place.run(["mcp", "trust", "--yes"])
    check("`mcp trust` prints the descriptions of the servers", status == 0 and '"inputSchema"' in out and "mcp-server-filesystem" in out, out + err)
    after = listed()
    check("both servers are trusted, and their descriptions are unchanged", {one["state"] for one in after.values()} == {"trusted"}, after)


def files(place):
    data, project = place.data, place.project
    place.write(data + "/a.txt", "the first line\nthe second line\n")
    place.write(data + "/.env", "TOKEN=hidden-of-data\n")
    place.write(project + "/seen.txt", "seen in the project\n")
    place.write(project + "/.env", "TOKEN=hidden-of-project\n")
    os.symlink("/etc/passwd", data + "/link")
    gave(place, "a file is read", "the second line", "files.read_text_file", path=data + "/a.txt")
    gave(place, "a number in quotes is read as a number", "the first line", "files.read_text_file", path=data + "/a.txt", head="1")
    gave(place, "a folder is listed", "[FILE] a.txt", "files.list_directory", path=data)
    gave(place, "a file is written", "Successfully", "files.write_file", path=data + "/new.txt", content="new\n")
    with open(data + "/new.txt", encoding="utf-8") as file:
        check("the written file exists", file.read() == "new\n", data)
    gave(place, "a file is edited", "-the first", "files.edit_file", path=data + "/a.txt", edits=[{"oldText": "first", "newText": "1st"}])
    gave(place, "the project is read", "seen in", "files.read_text_file", path=project + "/seen.txt")
    failed(place, "the project is read-only", "exit_status", "EROFS", "files.write_file", path=project + "/x", content="x")
    outside = "outside allowed directories"
    failed(place, "a file outside is refused", "exit_status", outside, "files.read_text_file", path="/etc/passwd")
    failed(place, "a link to a file outside is refused", "exit_status", outside, "files.read_text_file", path=data + "/link")
    for folder in (data, project):
        result = place.call("files.read_text_file", path=folder + "/.env")
        check("a blocked file is not read", "hidden-of" not in json.dumps(result), result)
        check("the error of a blocked file is EACCES", not result["success"] and "EACCES" in json.dumps(result), result)
    failed(place, "a missing file is an error", "exit_status", "ENOENT", "files.read_text_file", path=data + "/absent")
    failed(place, "a missing argument is an error", "invalid_argument", "path", "files.read_text_file")
    failed(place, "an unknown tool is an error", "unknown_tool", "files.read_text_file", "files.read_text")
    place.write(data + "/long.txt", "".join(f"line {number}\n" for number in range(100_000)))
    long = gave(place, "a long output keeps its beginning and end", "line 99999", "files.read_text_file", path=data + "/long.txt")
    check("a long output is cut in the middle", long["truncated"] and "line 50000\n" not in long["output"] and "line 1\n" in long["output"], long)
    place.write(data + "/huge.txt", "x" * (20 << 20))
    failed(place, "the error of a huge file names the limit", "io_error", "16 MiB", "files.read_text_file", path=data + "/huge.txt")
    with open(data + "/dot.png", "wb") as file:
        file.write(base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="))
    gave(place, "an image is returned", "[The image files.read_media_file-1: image/png, ", "files.read_media_file", path=data + "/dot.png")


def everything(place):
    gave(place, "an image between texts is returned", "[The image everything.get-tiny-image-1: image/png, ", "everything.get-tiny-image")
    gave(place, "a resource is returned", "Resource 1", "everything.get-resource-reference")
    gave(place, "links are returned", "A link to", "everything.get-resource-links")
    gave(place, "structured content is returned", "temperature", "everything.get-structured-content", location="Chicago")
    gave(place, "numbers arrive as numbers", "42", "everything.get-sum", a=40, b=2)
    env = gave(place, "a server has the variables of its settings", "good morning", "everything.get-env")
    check("a server has no variables of coder", "XDG_STATE_HOME" not in env["output"], env)
    failed(place, "a value outside of an enum is an error", "invalid_argument", "Chicago", "everything.get-structured-content", location="X")


def piped(place, reply):
    """Sends a reply to the pipe and approves every question. Returns the questions and the results."""
    events = {"ask": [], "result": []}
    with subprocess.Popen(
        [place.coder, "pipe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=place.env, cwd=place.project, encoding="utf-8"
    ) as pipe:
        watch = threading.Timer(PATIENCE, pipe.kill)
        watch.start()

        def say(**line):
            pipe.stdin.write(json.dumps(line) + "\n")
            pipe.stdin.flush()

        say(type="chunk", text=reply)
        say(type="end")
        for line in pipe.stdout:
            event = json.loads(line)
            events.get(event["event"], []).append(event)
            if event["event"] == "ask":
                say(type="approve", id=event["id"])
            if event["event"] == "results":
                break
        pipe.stdin.close()
        pipe.wait()
        watch.cancel()
    return events["ask"], events["result"]


def conversation(place):
    """Runs a whole turn with a call that reports its progress through `coder -p`, and a reply through the pipe."""
    long = block("everything.trigger-long-running-operation", {"duration": 2, "steps": 4})
    read = block("files.read_text_file", {"path": place.data + "/a.txt"})
    replies = place.base + "/replies"
    place.write(replies, f"%%% reply\n{long}\n%%% reply\n{read}\n%%% reply\nIt says so.\n")
    status, out, err = place.run(["-p", "go", "--json", "--yes", "--backend", "replay", "--replies", replies])
    events = [json.loads(line) for line in out.splitlines()]

    def of(kind):
        return [event for event in events if event["event"] == kind]

    check("a turn is answered", status == 0 and of("stop")[-1]["reason"] == "answered", out + err)
    check("its calls succeed", [one["success"] for one in of("result")] == [True, True], out)
    check("a long call reports its progress", any("/4" in note["text"] for note in of("note")), out)
    asked, results = piped(place, read)
    check("the pipe asks about a call", [one["rule"] for one in asked] == ["served"], asked)
    check("the pipe runs an approved call", [one["success"] for one in results] == [True], results)
    _, out, err = place.run(["exec", "--no-session", "--json"], read)
    check("without a user to ask, a call is denied", json.loads(out)["error"]["code"] == "denied", out + err)


def main(coder, servers):
    with tempfile.TemporaryDirectory() as base:
        place = Place(os.path.abspath(coder), os.path.abspath(servers), os.path.realpath(base))
        trust(place)
        files(place)
        everything(place)
        conversation(place)


main(*sys.argv[1:])
