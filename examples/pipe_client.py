#!/usr/bin/env python3
"""Adds tools to a chat client in Python through `coder pipe`, with only the standard library.

    pipe_client.py CODER FOLDER      CODER is the program, FOLDER the project

`chat` takes the place of your client: messages in, pieces of the reply out.
"""
import json
import queue
import subprocess
import sys
import threading


def chat(messages):
    replies = [
        'I will look around.\n```tool\n{"name": "list_files", "args": {}}\n```\n',
        'And write a note.\n```tool\n{"name": "write_file", "args": {"path": "note.md", "content": "<<EOF"}}\n'
        "# Seen\n```sh\nls\n```\nEOF\n```\n",
        "Done: the note is written." + "".join(f" Note {number} says more of it." for number in range(4000)),
    ]
    reply = replies[sum(message["role"] == "assistant" for message in messages)]
    for start in range(0, len(reply), 8):
        yield reply[start : start + 8]


class Tools:
    def __init__(self, coder, root):
        command = [coder, "pipe", "--root", root]
        self.pipe = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        # A thread reads the output while the client writes, because coder stops reading input while its output is not read.
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self.listen, daemon=True).start()
        self.instructions = self.hear()["instructions"]

    def listen(self):
        for line in self.pipe.stdout:
            self.lines.put(line)
        self.lines.put("")

    def say(self, **line):
        self.pipe.stdin.write(json.dumps(line) + "\n")
        self.pipe.stdin.flush()

    def hear(self):
        line = self.lines.get()
        if not line:
            raise SystemExit("coder pipe ended")
        return json.loads(line)

    def reply(self, pieces):
        """Sends a reply in pieces. Returns the whole reply."""
        whole = ""
        for piece in pieces:
            whole += piece
            self.say(type="chunk", text=piece)
        self.say(type="end")
        return whole

    def answer(self):
        """Answers a reply. Returns the text of the next message, or None when the turn is over."""
        while True:
            line = self.hear()
            match line["event"]:
                case "text":
                    print(line["text"], end="")
                case "ask":
                    print(f"? {line['tool']} {line['args'].get('path', '')}: {line['why']} -> yes")
                    self.say(type="approve", id=line["id"])
                case "result":
                    print(f"<- {line['tool']}: {'done' if line['success'] else line['error']['message']}")
                case "results":
                    return line["text"]
                case "error":
                    print("!", line["message"])
                case "stop":
                    print(f"\n[{line['reason']}]")
                    return None


def main():
    tools = Tools(*sys.argv[1:3])
    messages = [
        {"role": "system", "content": tools.instructions},
        {"role": "user", "content": "What is in here? Write a note."},
    ]
    while True:
        messages.append({"role": "assistant", "content": tools.reply(chat(messages))})
        text = tools.answer()
        if text is None:
            return
        messages.append({"role": "user", "content": text})


main()
