"""Runs the OpenAI client through the proxy in front of a real llama.cpp server, whose replies a grammar in the request determines."""
import json

import openai

client = openai.OpenAI()
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Tell it.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
CALL = 'I look.\n\n```tool\n{"name": "weather", "args": {"city": "Lisbon é"}}\n```\n'


def ask(text, tools=TOOLS):
    grammar = "root ::= " + json.dumps(text, ensure_ascii=False)
    return dict(model="tiny", messages=[{"role": "user", "content": "weather?"}], tools=tools, extra_body={"grammar": grammar})


whole = client.chat.completions.create(**ask(CALL))
assert whole.choices[0].finish_reason == "tool_calls", whole
assert json.loads(whole.choices[0].message.tool_calls[0].function.arguments) == {"city": "Lisbon é"}, whole
with client.chat.completions.stream(**ask(CALL), stream_options={"include_usage": True}) as stream:
    pieces = [event.type for event in stream].count("tool_calls.function.arguments.delta")
    got = stream.get_final_completion()
call = got.choices[0].message.tool_calls[0].function
assert json.loads(call.arguments) == {"city": "Lisbon é"} and got.usage.total_tokens > 100, got
print("live: llama.cpp:", call.name, call.arguments, pieces, "pieces, usage:", got.usage.total_tokens)

with client.chat.completions.stream(**ask('```tool\n{"name": "weather", "args": {"city": "Lis'), max_tokens=45) as stream:
    try:
        cut = stream.get_final_completion().choices[0].finish_reason
    except openai.LengthFinishReasonError:
        cut = "length"
assert cut == "length", cut
print("live: cut at its limit:", cut)
print("live: all checks passed")
