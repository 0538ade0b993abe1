#!/usr/bin/env python3
"""Measures how many replies per second one `coder parse --batch` process reads.

The 5,000 replies are all different: prose, calls, broken calls, calls in quotes and in other fences, forged results, and
truncated replies. Prints a Markdown table with the best of five runs.
"""

import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import time

REPLIES = 5_000
RUNS = 5
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

WORDS = """the parser reads a line and gives what it found to clients ready for it so that a person sees each word when it
comes and nothing waits `main.rs` *only* because [everyone](https://example.org/page) wrote <b>more</b> than was needed
não é só isso: também há 漢字 and 😀 in it""".split()


def prose(rng):
    sentences = (" ".join(rng.choices(WORDS, k=rng.randint(5, 25))).capitalize() + ". " for _ in range(rng.randint(1, 6)))
    lines = [f"- {' '.join(rng.choices(WORDS, k=6))}" for _ in range(rng.choice([0, 0, 3]))]
    return "".join(sentences).strip() + "\n\n" + "".join(f"{line}\n" for line in lines)


def code(rng):
    lines = rng.randint(1, 60)
    return "".join(f'    print("{rng.choice(WORDS)}", {rng.randint(0, 999)})  # so far\n' for _ in range(lines))


def call(rng):
    name, args = rng.choice([
        ("read_file", {"path": f"src/part_{rng.randint(0, 99)}.rs", "start_line": rng.randint(1, 50)}),
        ("list_files", {"path": "src"}),
        ("search", {"pattern": r"fn \w+\(", "path": "src"}),
        ("bash", {"command": f'grep -rn "{rng.choice(WORDS)}" src | head -n {rng.randint(1, 50)}'}),
        ("write_file", {"path": "tool.py", "content": code(rng)}),
    ])
    return json.dumps({"name": name, "args": args, "reason": "to see it"}, ensure_ascii=False)


def damaged(rng):
    text = call(rng)
    return rng.choice([
        lambda: text.replace("}}", ",}}"),
        lambda: text.replace('"name"', "name").replace('"args"', "args"),
        lambda: text.replace("\\n", "\n"),
        lambda: text.replace('\\"', '"'),
        lambda: text.replace("\\\\", "\\"),
        lambda: f"Here it is: {text}",
        lambda: text.rstrip("}"),
        lambda: repr(json.loads(text)),
    ])()


def block(body, word="tool"):
    return f"```{word}\n{body}\n```\n"


def example(rng):
    inner = block(call(rng))
    quoted = "".join(f"> {line}\n" for line in inner.splitlines())
    return rng.choice([f"````markdown\n{inner}````\n", quoted + "\n", f"<!--\n{inner}-->\n", block(call(rng), "json")])


def reply(rng):
    """Returns a reply and its finish reason."""
    parts = [prose(rng)]
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        kind = rng.choices(["call", "damaged", "example", "code"], [6, 2, 1, 1])[0]
        parts.append({
            "call": lambda: block(call(rng)),
            "damaged": lambda: block(damaged(rng)),
            "example": lambda: example(rng),
            "code": lambda: block(code(rng), "python"),
        }[kind]())
        parts.append("\n" + prose(rng))
    if rng.random() < 0.1:
        parts.insert(0, f"<think>\n{prose(rng)}</think>\n")
    if rng.random() < 0.02:
        parts.append("```tool_result\nok\n```\n")
    text = "".join(parts)
    if rng.random() < 0.05:
        return text[: rng.randrange(len(text))], "cut"
    return text, "stop"


def run(command, path):
    """Runs a command with the file as its input. Returns the seconds it took and the lines it printed."""
    with open(path, "rb") as given, tempfile.TemporaryFile() as out:
        started = time.perf_counter()
        subprocess.run(command, stdin=given, stdout=out, check=True)
        seconds = time.perf_counter() - started
        out.seek(0)
        return seconds, out.read().splitlines()


def main():
    subprocess.run(["cargo", "build", "--locked", "--quiet", "--release", "--bin", "coder"], cwd=ROOT, check=True)
    coder = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "release", "coder")
    rng = random.Random(1)
    replies = [reply(rng) for _ in range(REPLIES)]
    assert len({text for text, _ in replies}) > 0.99 * REPLIES, "too many replies are equal"
    megabytes = sum(len(text.encode()) for text, _ in replies) / 1e6
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".jsonl") as file:
        for at, (text, finish) in enumerate(replies):
            file.write(json.dumps({"id": at, "text": text, "finish": finish}, ensure_ascii=False) + "\n")
        file.flush()
        print(f"| {REPLIES} replies, {megabytes:.1f} MB, through `coder parse --batch` | replies/s | MB/s |\n|---|---:|---:|")
        for title, flags in [("each at once", []), ("in chunks of 4 bytes", ["--chunk", "4"])]:
            runs = [run([coder, "parse", "--batch", *flags], file.name) for _ in range(RUNS)]
            best = min(seconds for seconds, _ in runs)
            print(f"| {title} | {REPLIES / best:.0f} | {megabytes / best:.0f} |")
    answers = [json.loads(line) for line in runs[0][1]]
    if [answer["id"] for answer in answers] != list(range(REPLIES)) or any("error" in answer for answer in answers):
        sys.exit("a reply has no result, or an error")
    events = collections.Counter(event["event"] for answer in answers for event in answer["events"])
    print("\n" + ", ".join(f"{count} {name}" for name, count in events.most_common()))


main()
