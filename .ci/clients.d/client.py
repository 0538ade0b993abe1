"""Runs the official OpenAI client for Python through the proxy, without and with streaming."""
import json

import openai

client = openai.OpenAI()
STRING = {"type": "string"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": text,
            "parameters": {
                "type": "object",
                "properties": {key: STRING for key in keys},
                "required": keys,
                "additionalProperties": False,
            },
        },
    }
    for name, text, keys in [("weather", "Tell the weather.", ["city"]), ("note", "Keep a text.", ["title", "text"])]
]


def ask(text, **more):
    return client.chat.completions.create(model="talker", messages=[{"role": "user", "content": text}], **more)


def calls(message):
    return [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]


print("python: openai", openai.__version__)
assert [model.id for model in client.models.list()] == ["talker"]

plain = ask("hello").choices[0]
assert plain.finish_reason == "stop" and plain.message.content == "I have no tools, so I only talk.", plain
print("python: without tools:", plain.message.content)

first = ask("weather?", tools=TOOLS)
choice = first.choices[0]
assert choice.finish_reason == "tool_calls" and choice.message.content == "I look.", choice
assert calls(choice.message) == [("weather", {"city": "Lisbon"})], choice
print("python: a call:", calls(choice.message), "usage:", first.usage.total_tokens)

messages = [{"role": "user", "content": "weather?"}, choice.message]
messages += [{"role": "tool", "tool_call_id": choice.message.tool_calls[0].id, "content": "sunny, 21"}]
answer = client.chat.completions.create(model="talker", messages=messages, tools=TOOLS)
assert answer.choices[0].message.content == "The tool says: sunny, 21.", answer
print("python: the answer:", answer.choices[0].message.content)

for text, wanted in [
    ("weather?", [("weather", {"city": "Lisbon"})]),
    ("both?", [("weather", {"city": "Lisbon"}), ("weather", {"city": 'Porto "é"'})]),
    ("a file", [("note", {"title": "t", "text": '# One\n```\ntwo "three"\n'})]),
    ("broken", [("weather", {"city": "Lisbon"})]),
]:
    with client.chat.completions.stream(
        model="talker", messages=[{"role": "user", "content": text}], tools=TOOLS, stream_options={"include_usage": True}
    ) as stream:
        kinds = [event.type for event in stream]
        got = stream.get_final_completion()
    assert calls(got.choices[0].message) == wanted, got
    assert got.choices[0].finish_reason == "tool_calls", got
    pieces = kinds.count("tool_calls.function.arguments.delta")
    print("python: streamed:", text, "->", calls(got.choices[0].message), pieces, "pieces, usage:", got.usage.total_tokens)

one = ask("both?", tools=TOOLS, parallel_tool_calls=False).choices[0]
assert calls(one.message) == [("weather", {"city": "Lisbon"})], one
chosen = ask("weather?", tools=TOOLS, tool_choice={"type": "function", "function": {"name": "weather"}}).choices[0]
assert calls(chosen.message) == [("weather", {"city": "Lisbon"})], chosen
none = ask("weather?", tools=TOOLS, tool_choice="none").choices[0]
assert none.finish_reason == "stop" and not none.message.tool_calls, none

try:
    ask("weather?", tools=TOOLS, n=2)
    raise SystemExit("n = 2 was not refused")
except openai.BadRequestError as error:
    print("python: refused:", error.body["message"])
print("python: all checks passed")
