// Runs one streamed turn of the Vercel AI SDK with the default API of a provider: `openai` (Responses) or `anthropic` (Messages).
import { writeFileSync } from "node:fs";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [provider, baseURL] = process.argv.slice(2);
const create = { anthropic: createAnthropic, openai: createOpenAI }[provider];
const writeNote = tool({
  description: "Writes a file.",
  inputSchema: z.object({ path: z.string(), text: z.string() }),
  execute: async ({ path, text }) => {
    writeFileSync(path, text);
    return "written";
  },
});
const model = create({ baseURL, apiKey: "none" })("sdk");
const result = streamText({ model, prompt: "Write a note.", tools: { write_note: writeNote }, stopWhen: stepCountIs(5) });
for await (const part of result.fullStream) if (part.type === "error") throw part.error;
console.log(await result.text);
