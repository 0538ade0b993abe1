#!/usr/bin/env node
// Runs one tool without a model through `coder serve`, and then asks the model and streams its answer.
//
//     TOOLFENCE_SERVE_TOKEN=... http_client.mjs URL FILE PROMPT
const [url, file, prompt] = process.argv.slice(2);

async function post(path, body) {
  const headers = {
    "Authorization": `Bearer ${process.env.TOOLFENCE_SERVE_TOKEN}`,
    "Content-Type": "application/json",
  };
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (response.status >= 400) {
    const { error } = await response.json();
    throw new Error(`${response.status} ${error.code} ${error.field ?? ""}: ${error.message}`);
  }
  return response;
}

async function* events(response) {
  let text = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const data = text.slice(0, end).split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice(6));
    }
  }
}

const direct = await (await post("/api/agent", { direct: true, toolType: "read_file", args: { path: file } })).json();
console.log(direct.message, direct.data.calls[0].output);

for await (const event of events(await post("/api/agent", { prompt, stream: true }))) {
  if (event.event === "text") process.stdout.write(event.text);
  if (event.event === "result") console.log(`-> ${event.tool}: ${event.success ? "done" : event.error.message}`);
  if (event.event === "ask") await post(`/api/approvals/${event.approval}`, { decision: "deny" });
  if (event.event === "stop") console.log(`\n[${event.reason}]`);
}
