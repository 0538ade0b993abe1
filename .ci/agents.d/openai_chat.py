"""Runs one streamed turn of the official OpenAI client through Chat Completions, with a tool that writes a file."""
import json
import pathlib

from openai import OpenAI

TOOL = {"type": "function", "function": {"name": "write_note", "description": "Writes a file.", "parameters": {
    "type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}, "required": ["path", "text"]}}}
client = OpenAI()
messages = [{"role": "user", "content": "Write a note."}]
while True:
    with client.chat.completions.stream(model="sdk", messages=messages, tools=[TOOL]) as stream:
        message = stream.get_final_completion().choices[0].message
    messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        arguments = json.loads(call.function.arguments)
        pathlib.Path(arguments["path"]).write_text(arguments["text"])
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "written"})
print(message.content)
