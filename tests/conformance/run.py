#!/usr/bin/env python3
"""Feeds the replies of the conformance kit to a program and prints where its events differ: run.py PROGRAM [ARGUMENT..]"""
import json
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent


def comparable(events):
    """Events without their messages, whose words are free."""
    for event in events:
        if event.get("event") == "malformed":
            event["error"].pop("message", None)
    return events


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    cases = [json.loads(line) for line in (here / "replies.jsonl").read_text().splitlines()]
    wrong = 0
    for chunk in (None, 3):
        lines = []
        for number, case in enumerate(cases):
            line = {"id": number, "text": case["text"], "finish": case["finish"], "dialects": case["dialects"]}
            lines.append(json.dumps(line if chunk is None else line | {"chunk": chunk}))
        ran = subprocess.run(sys.argv[1:], input="\n".join(lines) + "\n", capture_output=True, text=True)
        answers = {answer["id"]: answer for answer in map(json.loads, ran.stdout.splitlines())}
        for number, case in enumerate(cases):
            events = answers.get(number, {}).get("events")
            if events is None or comparable(events) != comparable(case["events"]):
                wrong += 1
                print(f"{case['id']}, in pieces of {chunk or 'any'} bytes:\n  wanted {case['events']}\n  got    {events}")
    print(f"{len(cases)} replies, {wrong} wrong")
    sys.exit(wrong > 0)


main()
