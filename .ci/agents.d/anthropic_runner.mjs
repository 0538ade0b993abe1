// Runs one streamed turn of the official Anthropic client for Node with its tool runner.
import { writeFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";

const writeNote = betaTool({
  name: "write_note",
  description: "Writes a file.",
  inputSchema: { type: "object", properties: { path: { type: "string" }, text: { type: "string" } }, required: ["path", "text"] },
  run: ({ path, text }) => {
    writeFileSync(path, text);
    return "written";
  },
});
const messages = [{ role: "user", content: "Write a note." }];
const runner = new Anthropic().beta.messages.toolRunner({ model: "sdk", max_tokens: 1000, messages, tools: [writeNote], stream: true });
let last;
for await (const stream of runner) last = await stream.finalMessage();
console.log(last.content.map((block) => block.text ?? "").join(""));
