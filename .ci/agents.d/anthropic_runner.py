"""Runs one turn of the official Anthropic client with its tool runner, which keeps the conversation on the server if it can."""
import pathlib

from anthropic import Anthropic, beta_tool


@beta_tool
def write_note(path: str, text: str) -> str:
    """Writes a file.

    Args:
        path: the path of the file
        text: the content
    """
    pathlib.Path(path).write_text(text)
    return "written"


runner = Anthropic().beta.messages.tool_runner(
    model="sdk", max_tokens=1000, tools=[write_note], messages=[{"role": "user", "content": "Write a note."}])
for message in runner:
    last = message
print("".join(block.text for block in last.content if block.type == "text"))
