#!/usr/bin/env python3
"""Compares how `coder` and `git apply` handle the diffs that git makes of random trees with every option that a user may have set.

usage: .ci/git_diffs.py CODER [COUNT [FIRST_SEED]]. Each diff leads from one tree to another, so the right outcome is known. It is
passed to `coder` (by `apply_patch`), to `git apply` with the right `-p`, and to `git apply` without options, each on a fresh copy of
the old tree. Right: every byte and every mode is that of the new tree. Refused: the tool reports a failure and the tree is unchanged.
Damaged: anything else. A diff with which `coder` damages a tree is written to damaged-SEED.patch. The check fails if `coder` damages a
tree or applies fewer than 95 % of the diffs.
"""
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

NAMES = ["x", "y.txt", "new.txt", "src/main.txt", "src/lib.txt", "a/x", "b/x", "a/b/x", "i/x", "w/x", "c/y.txt", "old/x", "new/x", "a b.txt",
         "d e/f g", "end ", "q\"uote", "tab\there", "é.txt", "ü/日本.txt", "back\\slash", "-dash", "x b/x", "b/a/x",
         "README", "1/x", "2/x", "a/src/main.txt", "o/new.txt", "deep/er/than/usual.txt", "'single'", "x.orig", "dev/null.txt"]
LINES = ["", "", "}", "{", "fn main() {", "    let a = 1;", "\treturn;", "-- a comment", "++i;", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "diff --git a/x b/x",
         "*** End Patch", "```", "caffè", "  two", " ", "-", "+", "trailing  ", "Index: x", "rename from x", "\\ No newline", "-- ", "2.47.3",
         "deleted file mode 100644", "&lt;b&gt;", "> quoted", "     1\tone", "EOF", "\x1b[31mred\x1b[0m", "# title", "new file mode 100644"]
# A title, the settings and the arguments of git, the number of folders in the prefixes, and what is compared.
OPTIONS = [
    ("default", [], [], 1, "commits"), ("default", [], [], 1, "commits"),
    ("mnemonicPrefix, index and work tree", ["-c", "diff.mnemonicPrefix=true"], [], 1, "work"),
    ("mnemonicPrefix, commit and index", ["-c", "diff.mnemonicPrefix=true"], ["--cached"], 1, "index"),
    ("mnemonicPrefix, commit and work tree", ["-c", "diff.mnemonicPrefix=true"], ["HEAD"], 1, "work"),
    ("mnemonicPrefix -R", ["-c", "diff.mnemonicPrefix=true"], ["-R"], 1, "work"),
    ("noprefix", ["-c", "diff.noprefix=true"], [], 0, "commits"),
    ("--no-prefix -M", [], ["--no-prefix", "-M"], 0, "commits"),
    ("--no-prefix -R", [], ["--no-prefix", "-R"], 0, "commits"),
    ("own prefixes", [], ["--src-prefix=old/", "--dst-prefix=new/"], 1, "commits"),
    ("own prefixes, two folders deep", [], ["--src-prefix=from/here/", "--dst-prefix=to/there/"], 2, "commits"),
    ("own prefixes -C", [], ["--src-prefix=b/", "--dst-prefix=a/", "-C"], 1, "commits"),
    ("-C -C", [], ["-C", "-C"], 1, "commits"), ("-M", [], ["-M"], 1, "commits"), ("-M30%", [], ["-M30%"], 1, "commits"),
    ("-B", [], ["-B"], 1, "commits"), ("-B -M", [], ["-B", "-M"], 1, "commits"), ("--no-renames", [], ["--no-renames"], 1, "commits"),
    ("-U0", [], ["-U0"], 1, "commits"), ("-U1", [], ["-U1"], 1, "commits"), ("-W", [], ["-W"], 1, "commits"),
    ("-R", [], ["-R"], 1, "commits"), ("-R -M", [], ["-R", "-M"], 1, "commits"), ("-R -C -C", [], ["-R", "-C", "-C"], 1, "commits"),
    ("format-patch", [], ["format-patch"], 1, "commits"), ("format-patch noprefix", ["-c", "format.noprefix=true"], ["format-patch"], 0, "commits"),
    ("--full-index --patience", [], ["--full-index", "--patience"], 1, "commits"),
    ("--stat -p", [], ["--stat", "-p"], 1, "commits"),
    ("quotePath=false", ["-c", "core.quotePath=false"], ["-M"], 1, "commits"),
]
SETTINGS = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false", "-c", "core.safecrlf=false",
            "-c", "init.defaultBranch=main", "-c", "commit.gpgSign=false", "-c", "core.fileMode=true", "-c", "gc.auto=0"]


def git(where, *args, give=None):
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(where.parent), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    return subprocess.run(["git", *SETTINGS, *args], cwd=where, capture_output=True, input=give, env=env)


def made(where, *args):
    done = git(where, *args)
    if done.returncode:
        sys.exit(f"git {args}: {done.stderr.decode()}")
    return done.stdout


def text(rng):
    kind, ends = rng.random(), rng.choice(["\n", "\n", "\n", "\r\n", "mixed"])
    if kind < 0.08:
        return b""
    lines = [rng.choice(LINES) if rng.random() < 0.5 else f"line {rng.randint(0, 400)}" for _ in range(rng.randint(1, 6 if kind < 0.3 else 40))]
    out = "".join(line + (rng.choice(["\n", "\r\n"]) if ends == "mixed" else ends) for line in lines)
    if rng.random() < 0.15:
        out = out[:-1]
    return out.encode()


def edited(rng, old):
    lines = old.split(b"\n")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines))
        end = b"\r" if lines[at].endswith(b"\r") and rng.random() < 0.9 else b""
        match rng.randrange(5):
            case 0: lines.insert(at, rng.choice(LINES).encode() + end)
            case 1: lines[at] = f"changed {rng.randint(0, 99)}".encode() + end
            case 2 if len(lines) > 2: del lines[at]
            case 3: lines[at:at] = [f"block {n}".encode() + end for n in range(rng.randint(1, 5))]
            case _: lines[at] += rng.choice([b" ", b"x", b"\r", b";"])
    return b"\n".join(lines)


def free(tree, name):
    """Whether a file may have this name: it is not in use, and neither it nor a file of the tree is a folder of the other."""
    return all(not other.startswith(name + "/") and not name.startswith(other + "/") for other in tree) and name not in tree


def tree_of(rng):
    tree = {}
    for name in rng.sample(NAMES, rng.randint(2, 12)):
        if free(tree, name):
            tree[name] = (text(rng), rng.random() < 0.15)
    return tree


def changed(rng, tree):
    new = dict(tree)
    for _ in range(rng.randint(1, 5)):
        name = rng.choice(sorted(new)) if new else None
        other = rng.choice(NAMES)
        if not name:
            continue
        data, mode = new[name]
        match rng.randrange(10):
            case 0 if free(new, other): new[other] = (text(rng), rng.random() < 0.2)
            case 1 if len(new) > 1: del new[name]
            case 2: new[name] = (data, not mode)
            case 3 | 4 if free(new, other): new[other] = (edited(rng, data) if rng.random() < 0.5 else data, mode)
            case 5:
                rest = {key: value for key, value in new.items() if key != name}
                if free(rest, other):
                    new = {**rest, other: (edited(rng, data) if rng.random() < 0.5 else data, mode)}
            case 6: new[name] = (text(rng), mode)
            case 7:
                third = rng.choice(sorted(new))
                new[name], new[third] = new[third], new[name]
            case _: new[name] = (edited(rng, data), mode)
    return new


def write(where, tree):
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    fill(where, tree)


def fill(where, tree):
    for name, (data, mode) in tree.items():
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if mode else 0o644)


def read(where):
    files = (path for path in where.rglob("*") if path.is_file() and ".git" not in path.relative_to(where).parts)
    found = {str(path.relative_to(where)): (path.read_bytes(), path.stat().st_mode & 0o100 != 0) for path in files}
    return {name: file for name, file in found.items() if not name.startswith(".toolfence")}


def diff_of(home, old, new, settings, args, compared):
    """Returns the diff from one tree to the other, which is empty if git sees no difference."""
    repository = home / "repository"
    write(repository, old)
    made(repository, "init", "-q")
    made(repository, "add", "-A", "-f")
    made(repository, "commit", "-q", "--allow-empty", "-m", "old\n\nA message.\n\n- an item\n+ another")
    for name in old:
        (repository / name).unlink()
    for folder in sorted((path for path in repository.rglob("*") if path.is_dir() and ".git" not in path.relative_to(repository).parts), reverse=True):
        folder.rmdir()
    fill(repository, new)
    if compared == "work":
        # A name that was deleted must stay in the index.
        if fresh := sorted(new.keys() - old.keys()):
            made(repository, "--literal-pathspecs", "add", "-N", "-f", "--", *fresh)
        return made(repository, *settings, "diff", *args)
    made(repository, "add", "-A", "-f")
    if compared == "index":
        return made(repository, *settings, "diff", *args)
    made(repository, "commit", "-q", "--allow-empty", "-m", "new: a change\n\nA message with a list:\n- an item\n* another\n")
    if args == ["format-patch"]:
        return made(repository, *settings, "format-patch", "--stdout", "HEAD~")
    return made(repository, *settings, "diff", *args, "HEAD~", "HEAD")


def judge(where, old, new, run):
    write(where, old)
    status = run(where)
    after = read(where)
    if status == 0 and after == new:
        return "right"
    return "refused" if status != 0 and after == old else "damaged"


def by_coder(coder, patch):
    call = json.dumps({"name": "apply_patch", "args": {"patch": patch}})

    def run(where):
        command = [coder, "exec", "--no-session", "--yes", "--root", str(where)]
        done = subprocess.run(command, input=f"```tool\n{call}\n```\n".encode(), capture_output=True)
        by_coder.output[where.parent] = done.stdout.decode(errors="replace")
        return done.returncode
    return run


by_coder.output = {}


def by_git(patch, *args):
    def run(where):
        # `git apply` also fails on a diff that has only a commit message.
        return git(where, "apply", *args, "-", give=patch).returncode
    return run


def one(job):
    seed, coder = job
    rng = random.Random(seed)
    title, settings, args, depth, compared = OPTIONS[seed % len(OPTIONS)]
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home)
        for _ in range(20):
            old = tree_of(rng)
            new = changed(rng, old)
            patch = diff_of(home, old, new, settings, args, compared)
            if "-R" in args:
                old, new = new, old
            try:
                decoded = patch.decode()
            except UnicodeDecodeError:
                continue
            if decoded.strip() and b"\ndiff --git" in b"\n" + patch:
                break
        else:
            return title, None, None, None
        right = ["--unidiff-zero"] if "-U0" in args else []
        outcomes = {
            "coder": judge(home / "tree", old, new, by_coder(coder, decoded)),
            "git apply -pN": judge(home / "tree", old, new, by_git(patch, f"-p{depth}", *right)),
            "git apply": judge(home / "tree", old, new, by_git(patch)),
        }
        output = by_coder.output.pop(home, "")
        return title, outcomes, decoded, (seed, old, output)


def main():
    coder = pathlib.Path(sys.argv[1]).resolve()
    count, first = (int(sys.argv[at]) if len(sys.argv) > at else default for at, default in ((2, 1000), (3, 0)))
    tools = ["coder", "git apply -pN", "git apply"]
    kinds, totals = collections.defaultdict(collections.Counter), collections.Counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for title, outcomes, patch, more in pool.map(one, ((seed, coder) for seed in range(first, first + count))):
            if not outcomes:
                continue
            for tool in tools:
                kinds[title][tool, outcomes[tool]] += 1
                totals[tool, outcomes[tool]] += 1
            seed, old, output = more
            if outcomes["coder"] == "damaged" or (outcomes["coder"] == "refused" and "SHOW_REFUSED" in os.environ):
                files = "".join(f"{name!r}: {data!r}\n" for name, (data, _) in sorted(old.items()))
                pathlib.Path(f"{outcomes['coder']}-{seed}.patch").write_text(f"{title}\n{files}\n{output}\n{patch}", newline="")
    print("| | " + " | ".join(f"{tool}: right | refused | damaged" for tool in tools) + " |")
    print("|---|" + "---:|" * (3 * len(tools)))
    for name, counted in [*kinds.items(), ("**all**", totals)]:
        cells = [str(counted[tool, outcome]) for tool in tools for outcome in ("right", "refused", "damaged")]
        print(f"| {name} | " + " | ".join(cells) + " |")
    diffs = sum(totals["coder", outcome] for outcome in ("right", "refused", "damaged"))
    return totals["coder", "damaged"] > 0 or totals["coder", "right"] * 100 < diffs * 95


if __name__ == "__main__":
    sys.exit(main())
