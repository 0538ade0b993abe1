// Runs one streamed turn of the official OpenAI client for Node through Responses, with a tool that writes a file.
import { writeFileSync } from "node:fs";
import OpenAI from "openai";

const parameters = { type: "object", properties: { path: { type: "string" }, text: { type: "string" } }, required: ["path", "text"] };
const tools = [{ type: "function", name: "write_note", description: "Writes a file.", parameters, strict: false }];
const client = new OpenAI();
const input = [{ role: "user", content: "Write a note." }];
for (;;) {
  const stream = client.responses.stream({ model: "sdk", input, tools });
  const response = await stream.finalResponse();
  input.push(...response.output);
  const calls = response.output.filter((item) => item.type === "function_call");
  for (const call of calls) {
    const { path, text } = JSON.parse(call.arguments);
    writeFileSync(path, text);
    input.push({ type: "function_call_output", call_id: call.call_id, output: "written" });
  }
  if (!calls.length) {
    console.log(response.output_text);
    break;
  }
}
