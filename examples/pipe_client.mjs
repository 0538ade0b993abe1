#!/usr/bin/env node
// Adds tools to a chat client in Node through `coder pipe`, including one of its own. Needs only Node.
//
//     node pipe_client.mjs CODER FOLDER      CODER is the program, FOLDER the project
//
// Replace `chat` with your client: it takes messages and yields pieces of the reply.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

async function* chat(messages) {
  const replies = [
    'I will ask for the time.\n```tool\n{"name": "clock", "args": {"zone": "UTC"}}\n```\n',
    'And look around.\n```tool\n{"name": "list_files", "args": {}}\n```\n',
    "It is noon, and I have seen the files.",
  ];
  const reply = replies[messages.filter((message) => message.role === "assistant").length];
  for (let start = 0; start < reply.length; start += 8) yield reply.slice(start, start + 8);
}

const clock = {
  name: "clock",
  description: "Tell the time.",
  effect: "read", // without it every call needs approval
  parameters: { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] },
};

const [coder, root] = process.argv.slice(2);
const pipe = spawn(coder, ["pipe", "--root", root], { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: pipe.stdout })[Symbol.asyncIterator]();
const say = (line) => pipe.stdin.write(JSON.stringify(line) + "\n");
const hear = async () => {
  const { value, done } = await lines.next();
  if (done) throw new Error("coder pipe ended");
  return JSON.parse(value);
};

// Answers a reply. Returns the text of the next message, or null when the turn is over.
async function answer() {
  for (;;) {
    const line = await hear();
    if (line.event === "text") process.stdout.write(line.text);
    if (line.event === "run") say({ type: "tool_result", id: line.id, output: `12:00 ${line.args.zone}` });
    if (line.event === "ask") say({ type: "deny", id: line.id, reason: "Only reading is wanted here." });
    if (line.event === "result") console.log(`<- ${line.tool}: ${line.success ? "done" : line.error.message}`);
    if (line.event === "error") console.log(`! ${line.message}`);
    if (line.event === "results") return line.text;
    if (line.event === "stop") {
      console.log(`\n[${line.reason}]`);
      return null;
    }
  }
}

await hear();
say({ type: "tools", tools: [clock] });
const { instructions } = await hear();
const messages = [
  { role: "system", content: instructions },
  { role: "user", content: "What time is it, and what is in here?" },
];
for (;;) {
  let reply = "";
  for await (const text of chat(messages)) {
    reply += text;
    say({ type: "chunk", text });
  }
  say({ type: "end" });
  messages.push({ role: "assistant", content: reply });
  const text = await answer();
  if (text === null) break;
  messages.push({ role: "user", content: text });
}
pipe.stdin.end();
