// Tests `examples/webchat.user.js` in a chat page with a scripted model and a `coder serve` without a model. `.ci/page.mjs` runs this.
import { createServer } from "node:http";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const file = (name) => readFileSync(new URL(name, import.meta.url), "utf8");

export async function webchat({ browser, project, token, start, ended, within, check, call }) {
  const replies = [];
  const sent = [];
  const chat = createServer(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(200, { "Content-Type": "text/html" }).end(file("webchat.html"));
    let text = "";
    for await (const piece of request) text += piece;
    sent.push(text);
    response.end(replies.shift() ?? "There is nothing more to do.");
  });
  await within(new Promise((listening) => chat.listen(0, "127.0.0.1", listening)), "the chat listens");
  const origin = `http://127.0.0.1:${chat.address().port}`;
  const server = await start(["--origin", origin]);
  const one = await browser.page("about:blank", false);
  // Replaces a userscript manager, but without GM_xmlhttpRequest, so that the requests are those of a page of another origin.
  const values = `const GM_getValue = (name) => (${JSON.stringify({ server: server.address, token })})[name]; const GM_setValue = () => {};\n`;
  const source = `addEventListener("DOMContentLoaded", () => { ${values}${file("../examples/webchat.user.js")} });`;
  await one.send("Page.addScriptToEvaluateOnNewDocument", { source, worldName: "userscript" });
  await one.send("Page.navigate", { url: origin });

  const panel = `document.getElementById("toolfence-panel").shadowRoot`;
  const shows = (text, what) => one.until(`${panel}.textContent.includes(${JSON.stringify(text)})`, what);
  const composer = `document.getElementById("composer").value`;
  /** Clicks with mouse events of the browser, because the buttons of the panel ignore clicks by scripts. */
  const press = async (text) => {
    const button = `[...${panel}.querySelectorAll("button, input")].find((one) => (one.textContent || one.id).startsWith(${JSON.stringify(text)}))`;
    await one.until(button, `there is a button ${text}`);
    const { x, y } = await one.run(`(() => { const at = ${button}.getBoundingClientRect(); return { x: at.x + at.width / 2, y: at.y + at.height / 2 }; })()`);
    for (const type of ["mousePressed", "mouseReleased"]) await one.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
  };
  const send = () => one.click("#send");

  await one.until(`document.getElementById("toolfence-panel")`, "the panel appears");
  await press("Instructions");
  await one.until(`${composer}.includes("write_file")`, "the instructions are in the composer");
  replies.push(call("read_file", { path: "Makefile" }), call("write_file", { path: "chat.txt", content: "1. one\n\n    two ``` three\n" }),
    call("bash", { command: "date +%N > stamp.txt" }), call("bash", { command: "date +%N > stamp.txt" }));
  await send();
  await one.until(`${composer}.includes("tool_result") && ${composer}.includes("all:")`, "a reply is read, and its results are in the composer");
  await send();
  await shows("chat.txt", "the panel asks about a change");
  await one.run(`[...${panel}.querySelectorAll("#question button")].forEach((button) => button.click())`);
  await shows("two", "a script of the page cannot answer, and the question shows the diff");
  await press("Yes");
  await one.until(`${composer}.includes("Created chat.txt")`, "an approved call runs");
  check(readFileSync(join(project, "chat.txt"), "utf8") === "1. one\n\n    two ``` three\n", "the file has the text that the model wrote");
  await send();
  await shows("stamp.txt", "the panel asks about the changes of a command");
  await press("Always");
  await one.until(`${composer}.includes("[Kept: 1 file]")`, "Always keeps the changes");
  // From here on the results are sent automatically.
  await press("sends");
  replies.push("It is all done.");
  await send();
  await one.until(`document.querySelectorAll(".answer").length === 5`, "the same command runs without a question");
  check(sent.at(-1).includes("tool_result"), "its results are sent as the next message");
  await one.until(`document.querySelectorAll(".writing").length === 0`, "the answer is complete");
  await shows("The reply was read.", "a reply without calls ends the turn");

  // Another program saves a file between two replies.
  await press("sends");
  replies.push(call("read_file", { path: "chat.txt" }), call("write_file", { path: "chat.txt", content: "lost\n" }));
  await one.run(`document.getElementById("composer").value = "Shorten it."`);
  await send();
  await one.until(`${composer}.includes("two")`, "the model reads a file");
  writeFileSync(join(project, "chat.txt"), "saved by another program\n");
  await send();
  await press("Yes");
  await one.until(`${composer}.includes("conflict")`, "changing a file that has changed since it was read is a conflict");
  check(readFileSync(join(project, "chat.txt"), "utf8") === "saved by another program\n", "the text of the other program is kept");

  replies.push(call("write_file", { path: "undone.txt", content: "x\n" }));
  await send();
  await press("Yes");
  await one.until(`${composer}.includes("Created undone.txt")`, "another file is created");
  await press("Undo");
  await shows("was undone", "the panel undoes the change");
  replies.push(call("read_file", { path: "undone.txt" }));
  await send();
  await one.until(`${composer}.includes("not_found") && ${composer}.includes("undone changes")`, "the file is gone, and the model gets a note about it");

  const refused = await one.run(`fetch(${JSON.stringify(server.address)} + "/api/tools").then((answer) => answer.status)`);
  check(refused === 401, "a request without the token is refused");
  const other = await start([]);
  check(await one.run(`fetch(${JSON.stringify(other.address)} + "/api/health").then(() => false, () => true)`), "without --origin no page of another origin gets an answer");
  for (const child of [server.child, other.child]) await ended(child);
  chat.close();
  chat.closeAllConnections();
  await one.send("Page.close");
}
