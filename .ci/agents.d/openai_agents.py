"""Runs one turn of the OpenAI Agents SDK with its default API, Responses."""
import pathlib

from agents import Agent, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)


@function_tool
def write_note(path: str, text: str) -> str:
    """Writes a file."""
    pathlib.Path(path).write_text(text)
    return "written"


print(Runner.run_sync(Agent(name="writer", model="sdk", tools=[write_note]), "Write a note.").final_output)
