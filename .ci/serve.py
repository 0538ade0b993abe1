#!/usr/bin/env python3
"""Measures the cost of many streams of `coder serve`: memory, and the time to the first event of the active ones.

usage: .ci/serve.py CODER [IDLE] [ACTIVE]     the numbers of streams, by default 1,000 and 100

The model is a server in this script. A prompt contains the number of tokens that it sends and the pause between them in seconds; with 0
tokens the stream is idle and the model sends nothing. Each of five rounds opens all streams. The memory may not grow between the last two.
"""
import asyncio
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

TOKEN = "a-token-for-figures"


async def model(reader, writer):
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int((re.search(rb"(?i)content-length: (\d+)", head) or [0, 0])[1])
        body = json.loads(await reader.readexactly(length)) if length else {}
        words = body["messages"][-1]["content"].split("\n")[-1].split(" ")
        count, pause = int(words[0]), float(words[1])
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for number in range(count):
            choice = {"index": 0, "delta": {"content": f"word{number} "}, "finish_reason": None}
            writer.write(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
            await writer.drain()
            await asyncio.sleep(pause)
        if count:
            choice = {"index": 0, "delta": {}, "finish_reason": "stop"}
            writer.write(f"data: {json.dumps({'choices': [choice]})}\n\ndata: [DONE]\n\n".encode())
            await writer.drain()
        else:
            await reader.read(1)  # returns when the client closes the connection
    except (asyncio.IncompleteReadError, ConnectionError, KeyError):
        pass
    writer.close()


async def ask(port, prompt, path="/api/agent"):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"prompt": prompt, "stream": True})
    writer.write((
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {TOKEN}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    ).encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    return reader, writer


async def active(port, number=0):
    """Runs a turn and reads its events to the end. Odd numbers use a conversation, whose events the server keeps for a while."""
    start = time.monotonic()
    reader, writer = await ask(port, "100 0.02", ["/api/agent", "/api/sessions/new/turns"][number % 2])
    await reader.readuntil(b"event: text")
    first = time.monotonic() - start
    await reader.readuntil(b'"reason":"answered"')
    writer.close()
    return first, time.monotonic() - start


def memory(process, what):
    status = open(f"/proc/{process.pid}/status", encoding="utf-8").read()
    return int(re.search(rf"{what}:\s+(\d+)", status)[1]) / 1024


async def main(coder, idle_count, active_count):
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(16384, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    upstream = await asyncio.start_server(model, "127.0.0.1", 0, backlog=1024)
    url = "http://127.0.0.1:%d/v1" % upstream.sockets[0].getsockname()[1]
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {
            "TOOLFENCE_SERVE_TOKEN": TOKEN, "TOOLFENCE_LOCAL_SERVERS": "",
            "XDG_CONFIG_HOME": home + "/config", "XDG_STATE_HOME": home + "/state",
        }
        turns = str(idle_count + active_count + 10)
        command = [coder, "serve", "--root", home, "--listen", "127.0.0.1:0", "--base-url", url, "--model", "m", "--turns", turns]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        port = int(re.search(r":(\d+)$", process.stdout.readline().strip())[1])
        await active(port)
        print(f"at rest: {memory(process, 'VmRSS'):.0f} MB")
        held = []
        for number in range(5):
            idle = [await ask(port, "0 0") for _ in range(idle_count)]
            quiet = memory(process, "VmRSS")
            times = await asyncio.gather(*(active(port, number) for number in range(active_count)))
            held.append(memory(process, "VmRSS"))
            firsts, wholes = ([time for time in column] for column in zip(*times))
            print(f"round {number + 1}: {idle_count} idle streams {quiet:.0f} MB, with {active_count} active ones {held[-1]:.0f} MB; "
                  f"first event after {statistics.median(firsts) * 1000:.0f} ms (median), {max(firsts) * 1000:.0f} ms (most); "
                  f"100 tokens with 20 ms between them take {statistics.median(wholes):.2f} s")
            for _, writer in idle:
                writer.close()
            await asyncio.sleep(2)
        print(f"at rest again: {memory(process, 'VmRSS'):.0f} MB, most {memory(process, 'VmHWM'):.0f} MB")
        process.terminate()
        assert process.wait(30) == 143
        assert held[-1] < held[-2] * 1.05 + 2, "memory grows"


asyncio.run(main(sys.argv[1], *(int(number) for number in (sys.argv[2:] + ["1000", "100"][len(sys.argv) - 2:]))))
