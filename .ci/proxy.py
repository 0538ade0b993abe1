#!/usr/bin/env python3
"""Measures what `coder proxy` adds to a stream: the latency of a token, the time for many tokens, and the memory of many streams.

usage: .ci/proxy.py CODER. Every token of the upstream contains the time it was sent; the client reads the clock when it has read the
token. The same client asks the upstream directly, through the proxy without tools (which forwards the bytes), and through the proxy
with tools: for a reply of text, and for a call with a growing argument.
"""
import json
import re
import socket
import statistics
import subprocess
import sys
import threading
import time

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
TOOL = {"type": "function", "function": {"name": "write", "parameters": {
    "type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}}}


def event(text, finish=None):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    chunk = {"id": "u", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(chunk)}\n\n".encode()


def serve(connection):
    """Sends a reply. The user's message has the number of tokens, the pause between them, and whether they belong to a call."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, body = data.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
    while len(body) < length:
        body += connection.recv(65536)
    count, pause, call = json.loads(json.loads(body)["messages"][-1]["content"])
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        connection.sendall(HEAD + event('```tool\n{"name": "write", "args": {"content": "' if call else "So "))
        for _ in range(count):
            connection.sendall(event(f" {time.monotonic_ns()}"))
            time.sleep(pause) if pause else None
        connection.sendall(event('"}}\n```\n' if call else ".") + event("", "stop") + b"data: [DONE]\n\n")
    except OSError:
        pass
    connection.close()


def listen():
    server = socket.create_server(("127.0.0.1", 0), backlog=512)

    def accept():
        while True:
            threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return server.getsockname()[1]


def ask(port, tools, count, pause, call):
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": json.dumps([count, pause, call])}]}
    if tools:
        body["tools"] = [TOOL]
    body = json.dumps(body)
    connection = socket.create_connection(("127.0.0.1", port))
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n"
    connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
    return connection


def latencies(port, tools, call, count=400, pause=0.005):
    connection, seen = ask(port, tools, count, pause, call), []
    while data := connection.recv(65536):
        now = time.monotonic_ns()
        seen += [(now - int(sent)) / 1000 for sent in re.findall(rb" (\d{12,})", data)]
    assert len(seen) >= count * 0.99, len(seen)
    return statistics.median(seen), statistics.quantiles(seen, n=100)[98]


def seconds(port, tools, call, count=20_000):
    connection, started, size = ask(port, tools, count, 0, call), time.monotonic(), 0
    while data := connection.recv(1 << 20):
        size += len(data)
    return time.monotonic() - started


def memory(process, field):
    with open(f"/proc/{process}/status") as status:
        return int(re.search(rf"{field}:\s+(\d+)", status.read())[1]) / 1024


def many(port, process, tools, call, streams=200):
    connections = [ask(port, tools, 100, 0.02, call) for _ in range(streams)]
    time.sleep(1.2)
    held = memory(process, "VmRSS")
    for connection in connections:
        while connection.recv(1 << 16):
            pass
    return held


def main(coder):
    upstream = listen()
    command = [coder, "proxy", "--upstream", f"http://127.0.0.1:{upstream}/v1", "--listen", "127.0.0.1:0"]
    proxy = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    port = int(re.search(r"127\.0\.0\.1:(\d+)", proxy.stdout.readline())[1])
    idle = memory(proxy.pid, "VmRSS")
    print("| way | latency of a token, median | 99 % | 20,000 tokens at once | 200 streams at once |\n|---|---:|---:|---:|---:|")
    ways = [("the upstream itself", upstream, False, False), ("proxy, no tools", port, False, False),
            ("proxy, tools, text", port, True, False), ("proxy, tools, a call", port, True, True)]
    for name, where, tools, call in ways:
        latencies(where, tools, call, 50)
        median, most = latencies(where, tools, call)
        whole = min(seconds(where, tools, call) for _ in range(3))
        held = f"{many(where, proxy.pid, tools, call):.1f} MB" if where == port else "-"
        print(f"| {name} | {median:.0f} µs | {most:.0f} µs | {whole:.2f} s | {held} |")
    print(f"\nMemory of the proxy: idle {idle:.1f} MB, most {memory(proxy.pid, 'VmHWM'):.1f} MB.")
    proxy.terminate()
    assert proxy.wait(20) == 143


main(*sys.argv[1:])
