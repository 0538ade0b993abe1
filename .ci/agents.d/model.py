"""Serves a scripted model in three ways: without function calling, and with the native calls of two APIs for comparison.

The model name in a request selects the script, a list of steps. A step is either a list of calls, each a tool's name and its
arguments, or the text of an answer. The number of results in the conversation determines the next step, so the servers keep no state.
"""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The answer to a side request, which asks for a title.
TITLE = '{"title": "A task"}'


class Counter:
    """Counts the requests of one run and their bytes."""

    def __init__(self):
        self.lock = threading.Lock()
        self.reset()

    def reset(self):
        self.requests, self.bytes, self.largest = 0, 0, 0

    def add(self, size):
        with self.lock:
            self.requests, self.bytes, self.largest = self.requests + 1, self.bytes + size, max(self.largest, size)


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    scripts, counter = {}, None

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_json({"object": "list", "data": []})

    def do_HEAD(self):
        self.send_json({})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        request = json.loads(body)
        step = self.step(request)
        if step is not None:
            self.counter.add(len(body))
        self.reply(request, step)

    def step(self, request):
        """Returns the next step of the script, or None for a side request that offers no tools."""
        done = self.done(request)
        script = self.scripts[request["model"]]
        for number, step in enumerate(script):
            if done <= 0 or number == len(script) - 1:
                return step if self.offers_tools(request) else None
            done -= len(step)

    def send_json(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_events(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
            self.wfile.write(f"{name}data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode())
        self.close_connection = True


def text_of(content):
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content or [])


class Talker(Server):
    """Serves Chat Completions without function calling: the calls are blocks in the text."""

    counter = Counter()

    def offers_tools(self, request):
        return any("```tool" in text_of(message["content"]) for message in request["messages"] if message["role"] == "system")

    def done(self, request):
        users = (text_of(message["content"]) for message in request["messages"] if message["role"] == "user")
        return sum(text.count('tool_result\n{"id"') for text in users)

    def reply(self, request, step):
        wrong = {"tools", "tool_choice", "functions"} & set(request)
        roles = [message["role"] for message in request["messages"]]
        assert not wrong and "tool" not in roles, f"a model without function calling was sent {wrong or roles}"
        block = "```tool\n{}\n```\n"
        if isinstance(step, list):
            blocks = [block.format(json.dumps({"name": name, "args": args})) for name, args in step]
            text = "<think>\nThere is more to do.\n</think>\n\nNext step.\n\n" + "\n".join(blocks)
        else:
            text = step or TITLE
        about = {"id": "talk", "created": int(time.time()), "model": request["model"]}
        if not request.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            return self.send_json({**about, "object": "chat.completion", "choices": [choice]})
        pieces = [({"content": text[at : at + 7]}, None) for at in range(0, len(text), 7)] + [({}, "stop")]
        chunks = [{**about, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
                  for delta, finish in pieces]
        self.send_events([*chunks, "[DONE]"])


class Responses(Server):
    """Serves the Responses API with native calls."""

    counter = Counter()

    def offers_tools(self, request):
        return bool(request.get("tools"))

    def done(self, request):
        return sum(item.get("type") == "function_call_output" for item in request["input"])

    def reply(self, request, step):
        mark = str(time.time_ns())
        if isinstance(step, list):
            items = [{"type": "function_call", "id": f"fc_{mark}_{at}", "call_id": f"call_{mark}_{at}", "name": name,
                      "arguments": json.dumps(args), "status": "completed"} for at, (name, args) in enumerate(step)]
        else:
            items = [{"type": "message", "id": f"msg_{mark}", "role": "assistant", "status": "completed",
                      "content": [{"type": "output_text", "text": step or "{}", "annotations": []}]}]
        response = {"id": f"resp_{mark}", "object": "response", "model": request["model"], "status": "completed", "output": items}
        done = [{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)]
        self.send_events([{"type": "response.created", "response": response}, *done,
                          {"type": "response.completed", "response": response}])


class Messages(Server):
    """Serves the Messages API with native calls."""

    counter = Counter()

    def offers_tools(self, request):
        return bool(request.get("tools"))

    def done(self, request):
        parts = (part for message in request["messages"] if isinstance(message["content"], list) for part in message["content"])
        return sum(part.get("type") == "tool_result" for part in parts)

    def reply(self, request, step):
        mark = str(time.time_ns())
        blocks = []
        if isinstance(step, list):
            for at, (name, args) in enumerate(step):
                blocks.append(({"type": "tool_use", "id": f"toolu_{mark}_{at}", "name": name, "input": {}},
                               {"type": "input_json_delta", "partial_json": json.dumps(args)}))
        else:
            blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": step or TITLE}))
        reason = "tool_use" if isinstance(step, list) else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"msg_{mark}", "type": "message", "role": "assistant", "model": request["model"], "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}
        events = [{"type": "message_start", "message": message}]
        for at, (block, delta) in enumerate(blocks):
            events += [{"type": "content_block_start", "index": at, "content_block": block},
                       {"type": "content_block_delta", "index": at, "delta": delta},
                       {"type": "content_block_stop", "index": at}]
        events += [{"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
                   {"type": "message_stop"}]
        self.send_events(events)


def start(kind, scripts):
    """Starts a server of this kind and returns its address and its counter."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type(kind.__name__, (kind,), {"scripts": scripts}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}", kind.counter
