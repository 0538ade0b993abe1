#!/usr/bin/env -S node --experimental-websocket
// Uses the page of `coder serve` in a headless Chromium: a turn with a question that is answered, hostile texts of the model, a tool and
// a file name, a turn that is stopped, a narrow screen, and both languages. Needs Node 20 and chromium.
//
//     .ci/page.mjs CODER [FOLDER]     FOLDER gets the screenshots
import { spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, writeFileSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [coder, pictures] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), "page-"));
const project = join(home, "project");
mkdirSync(project);
const HOSTILE = '<script>window.pwned=1</script><img src=x onerror="window.pwned=1"><svg onload="window.pwned=1"></svg> ' +
  "[a link](javascript:window.pwned=1) <a href='javascript:window.pwned=1'>x</a> </pre></details>";
writeFileSync(join(project, "seen.txt"), HOSTILE + "\n");
const call = (name, args) => "I do it.\n```tool\n" + JSON.stringify({ name, args }) + "\n```\n";
const replies = [
  HOSTILE + "\n\nSome **strong** words, `code`, and a block:\n\n~~~\n" + HOSTILE + "\n~~~\n\n" + call("read_file", { path: "seen.txt" }),
  call("write_file", { path: "Makefile", content: "all:\n\techo " + HOSTILE + "\n" }),
  "Done, and the file is there.",
  call("bash", { command: "rm -r '<img src=x onerror=window.pwned=1>'" }),
  "Then not.",
];
writeFileSync(join(home, "replies"), replies.map((text) => "%%% reply\n" + text + "\n").join(""));

const TOKEN = "a-token-for-the-page";
const environment = { ...process.env, HOME: home, XDG_CONFIG_HOME: join(home, "c"), XDG_STATE_HOME: join(home, "s"), TOOLFENCE_SERVE_TOKEN: TOKEN };
const serve = spawn(coder, ["serve", "--root", project, "--listen", "127.0.0.1:0", "--backend", "replay", "--replies", join(home, "replies")],
  { env: environment, stdio: ["ignore", "pipe", "inherit"] });
let printed = "";
const address = await new Promise((found) => serve.stdout.on("data", (piece) => {
  const at = /http:\/\/[0-9.:]+(?=\n)/.exec((printed += piece));
  if (at) found(at[0]);
}));

let browser;
const wait = (time) => new Promise((over) => setTimeout(over, time));
function check(holds, what) {
  if (!holds) throw new Error(what);
  console.log("ok: " + what);
}

async function opened(language, dark) {
  browser = spawn("chromium", ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0",
    `--user-data-dir=${join(home, "browser-" + language)}`, `--lang=${language}`, `--accept-lang=${language}`, "about:blank"],
    { stdio: ["ignore", "ignore", "pipe"], env: { ...environment, LANGUAGE: language } });
  const port = await new Promise((found) => browser.stderr.on("data", (text) => {
    const at = /ws:\/\/127\.0\.0\.1:(\d+)/.exec(text);
    if (at) found(at[1]);
  }));
  const targets = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
  const socket = new WebSocket(targets.find((one) => one.type === "page").webSocketDebuggerUrl);
  await new Promise((open) => (socket.onopen = open));
  const waiting = new Map();
  const troubles = [];
  let last = 0;
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.id) waiting.get(message.id)(message.result ?? message);
    else if (message.method === "Log.entryAdded") troubles.push(message.params.entry.text);
    else if (message.method === "Runtime.exceptionThrown") troubles.push(message.params.exceptionDetails.exception?.description);
  };
  const send = (method, params = {}) => new Promise((done) => {
    waiting.set((last += 1), done);
    socket.send(JSON.stringify({ id: last, method, params }));
  });
  const run = async (expression) => {
    const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  const until = async (expression, what) => {
    for (let times = 0; times < 200; times += 1, await wait(50)) if (await run(expression)) return check(true, what);
    throw new Error(`never: ${what}\n${await run("document.body.innerText")}\n${troubles.join("\n")}`);
  };
  const size = (width, height) => send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 500 });
  const picture = async (name) => {
    if (!pictures) return;
    const { data } = await send("Page.captureScreenshot");
    writeFileSync(join(pictures, name + ".png"), Buffer.from(data, "base64"));
  };
  for (const part of ["Page", "Runtime", "Log"]) await send(part + ".enable");
  await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
  await size(1000, 800);
  await send("Page.navigate", { url: `${address}/#token=${TOKEN}` });
  await until("document.querySelectorAll('#tool option').length > 5", "the page has the tools, so the cookie holds");
  return { run, until, size, picture, troubles, send };
}

const type = (text) => `(() => { const box = document.getElementById("prompt"); box.value = ${JSON.stringify(text)};
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true })); })()`;
const press = (name) => `[...document.querySelectorAll(".question button")].find((one) => one.textContent === ${JSON.stringify(name)}).click()`;

try {
  const page = await opened("en-US", false);
  check(await page.run("location.href") === address + "/", "the token is not in the address any more");
  check(!(await page.run("document.cookie")), "no script reads the cookie");
  await page.run(type("Write a Makefile."));
  await page.until("document.querySelector('.question')", "it asks");
  check(await page.run("document.activeElement.className") === "question", "the question has the focus, and no button of it");
  await page.picture("question");
  await page.size(360, 640);
  check(await page.run("document.documentElement.scrollWidth <= 360"), "it fits a narrow screen");
  await page.picture("narrow");
  await page.size(1000, 800);
  await page.run(press("Run it"));
  await page.until("document.body.innerText.includes('Done, and the file is there.')", "the answer comes");
  await page.run("document.querySelectorAll('details').forEach((one) => (one.open = true))");
  await page.picture("answer");
  check(existsSync(join(project, "Makefile")), "the file is written");
  check(await page.run("window.pwned === undefined && !document.querySelector('#log img, #log script, #log svg, #log a')"),
    "nothing that was said became an element");
  check(readFileSync(join(project, "seen.txt"), "utf8").trim() === HOSTILE &&
    await page.run(`document.querySelector("#log").textContent.includes(${JSON.stringify(HOSTILE)})`), "it is shown as it was said");
  await page.run(type("Remove it."));
  await page.until("document.querySelector('.question')", "it asks again");
  await page.run("document.querySelector('.question input').value = 'Keep it.'");
  await page.run(press("Deny"));
  await page.until("document.body.innerText.includes('Then not.')", "a no goes on");
  check(await page.run("document.getElementById('log').textContent.includes('Keep it.')"), "its reason is in the result");
  check(await page.run("[...document.querySelectorAll('button, input, select, textarea, [role]')].every((one) => one.textContent.trim() || " +
    "one.labels?.length || one.getAttribute('aria-label'))"), "every control has a name");
  await page.run("document.getElementById('undo').click()");
  await page.until("document.querySelector('#log ul')?.textContent.includes('Makefile')", "undo says what it took back");
  check(!existsSync(join(project, "Makefile")), "the file is gone again");
  await page.send("Page.reload");
  await page.until("document.querySelectorAll('#tool option').length > 5", "the page is loaded again");
  await page.run("document.getElementById('past').click()");
  await page.until("document.querySelector('#list button')?.textContent.includes('Write a Makefile.')", "the conversation is in the list");
  await page.run("document.querySelector('#list button').click()");
  await page.until("document.querySelectorAll('#log .user').length === 2", "it is shown as it was");
  check(await page.run("window.pwned === undefined && !document.querySelector('#log img, #log script, #log svg, #log a')"),
    "nothing that was written down becomes an element");
  check(page.troubles.length === 0, "the browser complains of nothing " + page.troubles.join("; "));
  browser.kill();
  const dark = await opened("pt-BR", true);
  check(await dark.run("document.getElementById('send').textContent") === "Enviar", "the page speaks Portuguese");
  check(await dark.run("getComputedStyle(document.body).backgroundColor") === "rgb(21, 24, 29)", "the page is dark");
  await dark.run(type("Mais uma vez."));
  await dark.until("document.querySelector('.bad')", "a backend that fails is told");
  await dark.picture("dark");
} finally {
  browser?.kill();
  serve.kill();
}
