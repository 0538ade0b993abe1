#!/usr/bin/env python3
"""Asks `coder serve` and streams the answer, with only the standard library.

    TOOLFENCE_SERVE_TOKEN=... http_client.py URL PROMPT [--yes]
"""
import json
import os
import sys
import urllib.error
import urllib.request


def post(url, body):
    headers = {"Authorization": "Bearer " + os.environ["TOOLFENCE_SERVE_TOKEN"], "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        return urllib.request.urlopen(request, timeout=60)  # the server sends a comment every 15 seconds
    except urllib.error.HTTPError as refused:
        error = json.load(refused)["error"]
        sys.exit(f"{refused.code} {error['code']} {error['field'] or ''}: {error['message']}")


def events(response):
    """Yields the data of each event, which includes its name."""
    for line in response:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


def main():
    url, prompt, *yes = sys.argv[1:]
    for event in events(post(url + "/api/agent", {"prompt": prompt, "stream": True})):
        kind = event["event"]
        if kind == "text":
            print(event["text"], end="", flush=True)
        elif kind == "ask":
            print(f"\n? {event['tool']} {json.dumps(event['args'])}\n  {event['why']}")
            agreed = yes or input("  run it? [y/N] ").strip() == "y"
            decision = {"decision": "approve"} if agreed else {"decision": "deny", "reason": "The user said no."}
            post(f"{url}/api/approvals/{event['approval']}", decision).read()
        elif kind == "result":
            print(f"\n-> {event['tool']}: {'done' if event['success'] else event['error']['message']}")
        elif kind == "error":
            print("\n" + event["message"], file=sys.stderr)
        elif kind == "stop":
            print(f"\n[{event['reason']}]")


main()
