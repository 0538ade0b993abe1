"""Runs a whole task, with a call, its result and an answer, in an agent that requires function calling (openai-agents)."""
import asyncio
import os
from importlib.metadata import version

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
asked = []


@function_tool
def weather(city: str) -> str:
    """Tell the weather.

    Args:
        city: which city
    """
    asked.append(city)
    return f"{city} is sunny"


async def main():
    model = OpenAIChatCompletionsModel(model="talker", openai_client=AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"]))
    agent = Agent(name="weather man", instructions="Tell the weather.", tools=[weather], model=model)
    print("agent: openai-agents", version("openai-agents"))

    result = await Runner.run(agent, "weather?")
    assert asked == ["Lisbon"], asked
    assert result.final_output == "The tool says: Lisbon is sunny.", result.final_output
    print("agent: not streamed:", result.final_output)

    asked.clear()
    result = Runner.run_streamed(agent, "broken weather?")
    kinds = [event.type async for event in result.stream_events()]
    assert asked == ["Lisbon"] and result.final_output == "The tool says: Lisbon is sunny.", result.final_output
    print("agent: streamed, after the proxy asked again:", result.final_output, f"({len(kinds)} events)")
    print("agent: all checks passed")


asyncio.run(main())
