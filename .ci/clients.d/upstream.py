"""Serves an OpenAI-shaped API without function calling: it refuses requests that have tools and answers in text.

The reply depends on the conversation: a call of `weather` if the system message describes that tool and there is no result
yet; first a broken block if the conversation has the word `broken`; the result if there is one.
"""
import json
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def text_of(message):
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def call(name, args):
    return "```tool\n" + json.dumps({"name": name, "args": args}) + "\n```\n"


def reply(messages):
    system = " ".join(text_of(message) for message in messages if message["role"] in ("system", "developer"))
    last = text_of(messages[-1])
    everything = " ".join(text_of(message) for message in messages)
    result = re.search(r"tool_result\n(\{.*\})\n(.*?)\n`{3}", last, re.S)
    if result and json.loads(result[1])["success"]:
        return f"The tool says: {result[2]}."
    if "`weather(" not in system:
        return "I have no tools, so I only talk."
    if "broken" in everything and "could not be read" not in last:
        return 'I try.\n\n```tool\n{"name": "weather" "args"]}\n```\n'
    if "file" in last:
        return "I write it.\n\n```tool\n" + '{"name": "note", "args": {"title": "t", "text": "<<EOF"}}\n# One\n```\ntwo "three"\nEOF\n```\n'
    if "both" in last:
        return "I look at both.\n\n" + call("weather", {"city": "Lisbon"}) + "\n" + call("weather", {"city": "Porto \"é\""})
    return "<think>\nIt wants the weather.\n</think>\n\nI look.\n\n" + call("weather", {"city": "Lisbon"})


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, {"object": "list", "data": [{"id": "talker", "object": "model", "created": 1, "owned_by": "test"}]})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        unknown = {"tools", "tool_choice", "parallel_tool_calls"} & set(request)
        roles = {message["role"] for message in request["messages"]} - {"system", "developer", "user", "assistant"}
        if unknown or roles or any("tool_calls" in message for message in request["messages"]):
            return self.answer(400, {"error": {"message": f"I only talk: {sorted(unknown | roles)}", "type": "bad"}})
        text = reply(request["messages"])
        usage = {"prompt_tokens": 20, "completion_tokens": len(text) // 4, "total_tokens": 20 + len(text) // 4}
        about = {"id": "talk-1", "created": int(time.time()), "model": "talker"}
        if not request.get("stream"):
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return self.answer(200, {**about, "object": "chat.completion", "choices": [choice], "usage": usage})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for at in range(0, len(text), 3):
            self.event(about, {"content": text[at : at + 3]}, None)
        self.event(about, {}, "stop")
        last = {**about, "object": "chat.completion.chunk", "choices": [], "usage": usage}
        self.wfile.write(f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n".encode())
        self.close_connection = True

    def event(self, about, delta, finish):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {**about, "object": "chat.completion.chunk", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()
        time.sleep(0.002)


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
server.serve_forever()
