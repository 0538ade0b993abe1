#!/usr/bin/env python3
"""Compares how `coder`, `git apply` and GNU patch handle real patches with the errors that models make.

usage: .ci/perturbed.py CODER [COUNT]. Each change of one file in this repository's history is a patch with a known outcome.
The script alters the patch in one way, which may remove needed information, and passes it to `coder` (by `apply_patch`),
`git apply` and GNU patch, each on a fresh tree. Right: every byte is the expected one; if the patch lost needed information,
the tree is unchanged. Refused: the tree is unchanged. Damaged: anything else. A patch with which `coder` damages a file is
written to damaged-N.patch, and the check fails.
"""
import collections
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

HUNK = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@", re.M)


def git(*args):
    return subprocess.run(["git", *args], capture_output=True, check=True).stdout


def changes():
    """Yields the path, old text, new text and patch of every change of a text file."""
    for commit in git("log", "--no-merges", "--format=%H").decode().split():
        for line in git("diff-tree", "-r", "--no-commit-id", "--diff-filter=M", "--no-renames", commit).decode().splitlines():
            _, _, old, new, rest = line.split(" ", 4)
            path = rest.split("\t")[1]
            if not path.endswith((".rs", ".md", ".toml", ".py", ".txt", ".tsv")):
                continue
            old, new = git("cat-file", "blob", old), git("cat-file", "blob", new)
            if len(old) > 200_000 or b"\r" in old + new or b'"' in path.encode():
                continue
            patch = git("diff-tree", "-p", "--no-commit-id", "--diff-filter=M", "--no-renames", "--format=", commit, "--", path)
            try:
                yield path, old.decode(), new.decode(), patch.decode()
            except UnicodeDecodeError:
                pass


def body(patch):
    return patch[patch.index("--- ") :]


def lines_changed(patch, change):
    """Returns the patch with each line of its hunks replaced by `change(sign, text)`."""
    head, hunks = body(patch).split("@@", 1)
    out = []
    for line in ("@@" + hunks).split("\n"):
        out.append(change(line[0], line[1:]) if line[:1] in (" ", "-", "+") and line else line)
    return head + "\n".join(out)


def wrong_numbers(rng, patch, old, new):
    return HUNK.sub(lambda m: f"@@ -{rng.randint(1, 400)}{m[2] or ''} +{rng.randint(1, 400)}{m[4] or ''} @@", body(patch)), old, new


def wrong_counts(rng, patch, old, new):
    return HUNK.sub(lambda m: f"@@ -{m[1]},{rng.randint(1, 40)} +{m[3]},{rng.randint(1, 40)} @@", body(patch)), old, new


def no_numbers(rng, patch, old, new):
    return re.sub(r"^@@ [^@]*@@.*$", "@@", body(patch), flags=re.M), old, new


def trailing_blanks(rng, patch, old, new):
    return lines_changed(patch, lambda sign, text: sign + text + ("  " if sign == " " and rng.random() < 0.5 else "")), old, new


def empty_context(rng, patch, old, new):
    """Removes the blank of empty context lines, as editors do."""
    return re.sub(r"^ $", "", body(patch), flags=re.M), old, new


def crlf_patch(rng, patch, old, new):
    return body(patch).replace("\n", "\r\n"), old, new


def crlf_file(rng, patch, old, new):
    return body(patch), old.replace("\n", "\r\n"), new.replace("\n", "\r\n")


def fenced(rng, patch, old, new):
    return f"Here is the change:\n\n```diff\n{body(patch)}```\n\nThat should do it.\n", old, new


def no_prefixes(rng, patch, old, new):
    return re.sub(r"^(---|\+\+\+) [ab]/", r"\1 ", body(patch), flags=re.M), old, new


def begin_patch(rng, patch, old, new):
    path = re.search(r"^\+\+\+ b/(.*)$", patch, re.M)[1]
    hunks = re.sub(r"^@@ [^@]*@@.*$", "@@", "@@" + body(patch).split("@@", 1)[1], flags=re.M)
    hunks = re.sub(r"^\\ No newline.*\n", "", hunks, flags=re.M)
    return f"*** Begin Patch\n*** Update File: {path}\n{hunks}*** End Patch\n", old, new


def drifted(rng, patch, old, new):
    """Adds lines to the beginning of the file after the patch was made."""
    more = "".join(f"above {number}\n" for number in range(rng.randint(1, 60)))
    return body(patch), more + old, more + new


def tabs(rng, patch, old, new):
    """Indents the patch with tabs. Added lines must get the file's indentation, which the old lines show."""
    if not re.search(r"^[ -] {4}", patch, re.M):
        return wrong_numbers(rng, patch, old, new)

    def change(sign, text):
        return sign + re.sub(r"^( {4})+", lambda m: "\t" * (len(m[0]) // 4), text)
    return lines_changed(patch, change), old, new


def less_indented(rng, patch, old, new):
    """Removes the common indentation of a patch. Added lines must get it back."""
    lines = [line[1:] for line in body(patch).split("\n")[2:] if line[:1] in (" ", "-", "+") and line[1:].strip()]
    least = min(len(line) - len(line.lstrip(" ")) for line in lines)
    return lines_changed(patch, lambda sign, text: sign + text[least:]), old, new


def no_final_newline(rng, patch, old, new):
    return body(patch).rstrip("\n"), old, new


def wrong_context(rng, patch, old, new):
    """Alters a line of context, so that the patch must be refused."""
    done = []

    def change(sign, text):
        if sign in " -" and not done:
            done.append(1)
            return sign + text + " // as I remember it"
        return sign + text

    return lines_changed(patch, change), old, None


def truncated(rng, patch, old, new):
    """Truncates a patch in the form that has an end mark, so that it must be refused. In a unified diff, counts are only hints."""
    text = begin_patch(rng, patch, old, new)[0].split("\n")
    return "\n".join(text[: rng.randint(3, len(text) - 3)]) + "\n", old, None


def lead_blank_forgotten(rng, patch, old, new):
    """Omits the sign of indented context lines, so that the first blank of their indentation replaces it."""
    return lines_changed(patch, lambda sign, text: text if sign == " " and text.startswith(" ") else sign + text), old, new


def lead_blank_doubled(rng, patch, old, new):
    return lines_changed(patch, lambda sign, text: sign + (" " if sign == " " and text else "") + text), old, new


def no_break_context(rng, patch, old, new):
    def change(sign, text):
        bare = text.lstrip(" ")
        return sign + ("\u00a0" * (len(text) - len(bare)) + bare if sign == " " else text)
    return lines_changed(patch, change), old, new


def one_replaced_line_exact(rng, patch, old, new):
    """Indents context and removed lines one step too far, but not added lines."""
    return lines_changed(patch, lambda sign, text: sign + (" " * 4 if sign != "+" and text else "") + text), old, new


def tabs_to_spaces_context(rng, patch, old, new):
    def tabbed(text):
        return re.sub(r"^( {4})+", lambda m: "\t" * (len(m[0]) // 4), text, flags=re.M)
    return lines_changed(patch, lambda sign, text: sign + (tabbed(text) if sign == "+" else text)), tabbed(old), tabbed(new)


def lost_indent_context(rng, patch, old, new):
    return lines_changed(patch, lambda sign, text: sign + (text if sign == "+" else text.lstrip(" "))), old, new


def stars_marks(rng, patch, old, new):
    text = begin_patch(rng, patch, old, new)[0]
    return text.replace("*** Begin Patch\n", "*** Begin Patch ***\n", 1).removesuffix("\n") + " ***\n", old, new


def indented_marks(rng, patch, old, new):
    text = begin_patch(rng, patch, old, new)[0].removesuffix("*** End Patch\n")
    text = text.replace("*** Begin Patch\n*** Update", "  *** Begin Patch\n  *** Update", 1)
    return text + " *** End Patch\n", old, new


def lone_returns(rng, patch, old, new):
    """Ends the lines of the file with CR alone, which makes it one line, so that the patch must be refused."""
    return body(patch), old.replace("\n", "\r"), None


KINDS = [wrong_numbers, wrong_counts, no_numbers, trailing_blanks, empty_context, crlf_patch, crlf_file, fenced, no_prefixes,
         begin_patch, drifted, tabs, less_indented, no_final_newline, wrong_context, truncated,
         lead_blank_forgotten, lead_blank_doubled, no_break_context, one_replaced_line_exact, tabs_to_spaces_context,
         lost_indent_context, stars_marks, indented_marks, lone_returns]


def tree(root):
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*")
            if file.is_file() and ".toolfence" not in str(file)}


def run(tool, root, patch, coder):
    if tool == "coder":
        call = json.dumps({"name": "apply_patch", "args": {"patch": patch}})
        command = [coder, "exec", "--no-session", "--yes", "--root", str(root)]
        return subprocess.run(command, input=f"```tool\n{call}\n```\n".encode(), capture_output=True).returncode
    if tool == "git apply":
        command = ["git", "apply", "-"]
    else:
        command = ["patch", "-p1", "--batch", "--silent", "--no-backup-if-mismatch", "--reject-file=-"]
    return subprocess.run(command, input=patch.encode(), cwd=root, capture_output=True).returncode


def judge(tool, path, old, wanted, patch, coder, home):
    root = home / "tree"
    shutil.rmtree(root, ignore_errors=True)
    (root / path).parent.mkdir(parents=True)
    (root / path).write_bytes(old.encode())
    before = tree(root)
    status = run(tool, root, patch, coder)
    after = tree(root)
    if wanted is not None and after == {path: wanted.encode()}:
        return "right"
    if after == before:
        return "right" if wanted is None else "refused"
    return "damaged" if status == 0 or after != before else "refused"


def main():
    coder, count = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 900
    rng = random.Random(20)
    cases = list(changes())
    if not cases:
        sys.exit("the history of the repository has no patches; is this a shallow clone?")
    rng.shuffle(cases)
    tools = ["coder", "git apply", "GNU patch"]
    if not shutil.which("patch"):
        tools.remove("GNU patch")
    totals, kinds = collections.Counter(), {kind.__name__: collections.Counter() for kind in KINDS}
    with tempfile.TemporaryDirectory() as home:
        for number in range(count):
            path, old, new, patch = cases[number % len(cases)]
            kind = KINDS[number % len(KINDS)]
            text, base, wanted = kind(rng, patch, old, new)
            for tool in tools:
                outcome = judge(tool, path, base, wanted, text, coder, pathlib.Path(home))
                totals[tool, outcome] += 1
                kinds[kind.__name__][tool, outcome] += 1
                if tool == "coder" and outcome == "damaged":
                    pathlib.Path(f"damaged-{number}.patch").write_text(text)
    print(f"{count} patches of {len(cases)} changes\n")
    print("| | " + " | ".join(f"{tool}: right | refused | damaged" for tool in tools) + " |")
    print("|---|" + "---:|" * (3 * len(tools)))
    for name, counted in [*kinds.items(), ("**all**", totals)]:
        cells = [str(counted[tool, outcome]) for tool in tools for outcome in ("right", "refused", "damaged")]
        print(f"| {name.replace('_', ' ')} | " + " | ".join(cells) + " |")
    return totals["coder", "damaged"] > 0


if __name__ == "__main__":
    sys.exit(main())
