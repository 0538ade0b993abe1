#!/usr/bin/env -S node --experimental-websocket
// Tests the page of `coder serve` in a headless Chromium, with a scripted model: questions, hostile texts from the model, a tool and a
// file name, turns that are stopped or continue without the page, two tabs, a server that restarts, narrow and wide windows, the keyboard,
// the clipboard, both languages, and an accessibility checker in every state. Needs Node 20 and chromium; with the path of the script of
// axe-core in AXE, it runs the accessibility checker too.
//
//     [AXE=axe.min.js] .ci/page.mjs CODER [FOLDER]     writes screenshots to FOLDER
//     .ci/page.mjs CODER FILE.png                      only writes the picture for docs/images
import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { connect, createServer as connections } from "node:net";
import { join } from "node:path";
import { webchat } from "./webchat.mjs";

const [coder, output] = process.argv.slice(2);
const isPicture = output?.endsWith(".png");
const pictures = isPicture ? undefined : output;
/** The limit for each wait, in milliseconds. */
const PATIENCE = 60_000;

const home = mkdtempSync(join(tmpdir(), "page-"));
const project = join(home, "project");
mkdirSync(project);
const HOSTILE = '<script>window.pwned=1</script><img src=x onerror="window.pwned=1"><svg onload="window.pwned=1"></svg> ' +
  "[a link](javascript:window.pwned=1) <a href='javascript:window.pwned=1'>x</a> </pre></details>";
const NAME = "<img src=x onerror=window.pwned=1>.txt";
writeFileSync(join(project, "seen.txt"), HOSTILE + "\n");
writeFileSync(join(project, NAME), "a file with a name\n");
writeFileSync(join(project, "Makefile"), "all:\n\techo one\n\techo two\n\ntest:\n\techo test\n");

writeFileSync(join(project, "lines.txt"), "a line\n".repeat(400));
mkdirSync(join(project, "source"));
writeFileSync(join(project, "source", "first file.rs"), "");
writeFileSync(join(project, "source", "second.rs"), "");
writeFileSync(join(project, ".gitignore"), "source/ignored.rs\n");
writeFileSync(join(project, "source", "ignored.rs"), "");
writeFileSync(join(project, ".env"), "A=b\n");

const wait = (time) => new Promise((over) => setTimeout(over, time));
function within(promise, what) {
  let timer;
  const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error(`timed out waiting for: ${what}`)), PATIENCE)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
function check(holds, what) {
  if (!holds) throw new Error(what);
  console.log("ok: " + what);
}

// The model -----------------------------------------------------------------------------------------------------------------------

/** `replies` has a reply for each request, in order: a text, or a function that writes pieces. `seen` has the messages of each request. */
const model = { replies: [], seen: [], gone: 0 };
const upstream = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  if (!request.url.endsWith("/chat/completions")) {
    response.writeHead(404).end();
    return;
  }
  model.seen.push(JSON.parse(body).messages);
  const reply = model.replies.shift() ?? "There is nothing more to say.";
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  let over = false;
  response.on("close", () => (model.gone += over ? 0 : 1));
  const event = (choice) => response.write(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
  const say = (content) => event({ delta: { content } });
  if (typeof reply === "function") await reply(say);
  else for (let at = 0; at < reply.length; at += 7) say(reply.slice(at, at + 7));
  event({ delta: {}, finish_reason: "stop" });
  over = true;
  response.end("data: [DONE]\n\n");
});
await within(new Promise((listening) => upstream.listen(0, "127.0.0.1", listening)), "the model listens");
const call = (name, args) => "I do it.\n```tool\n" + JSON.stringify({ name, args }) + "\n```\n";
/** Returns a reply that sends a text and then waits, and the function that ends the wait. */
function halting(text) {
  let go;
  const held = new Promise((release) => (go = release));
  const reply = async (say) => {
    say(text);
    await held;
  };
  return [reply, go];
}

// The server ----------------------------------------------------------------------------------------------------------------------

const TOKEN = "a-token-for-the-page";
const environment = { ...process.env, HOME: home, XDG_CONFIG_HOME: join(home, "c"), XDG_STATE_HOME: join(home, "s") };
const running = new Set();
/** Starts a server and waits until it listens. */
async function served(listen, token, ...more) {
  const base = `http://127.0.0.1:${upstream.address().port}/v1`;
  const options = ["serve", "--root", project, "--listen", listen, "--base-url", base, "--model", isPicture ? "gemma-3-27b" : "m", ...more];
  const child = spawn(coder, options, { env: { ...environment, TOOLFENCE_SERVE_TOKEN: token }, stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  let printed = "";
  const address = await within(new Promise((found, fail) => {
    child.on("exit", (status) => fail(new Error(`the server ended with ${status}`)));
    child.stdout.on("data", (piece) => {
      const at = /http:\/\/[0-9.:]+(?=\n)/.exec((printed += piece));
      if (at) found(at[0]);
    });
  }), "the server listens");
  return { address, child };
}
async function ended(child) {
  running.delete(child);
  const gone = new Promise((over) => child.on("exit", over));
  child.kill();
  await within(gone, "a process ends");
}

// The browser ---------------------------------------------------------------------------------------------------------------------

/** Starts a browser that prefers this language. */
async function browser(language) {
  const child = spawn("chromium", ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0",
    `--user-data-dir=${join(home, "browser-" + language)}`, `--lang=${language}`, `--accept-lang=${language}`, "about:blank"],
    { stdio: ["ignore", "ignore", "pipe"], env: { ...environment, LANGUAGE: language } });
  running.add(child);
  const url = await within(new Promise((found, fail) => {
    child.on("exit", (status) => fail(new Error(`the browser ended with ${status}`)));
    child.stderr.on("data", (text) => {
      const at = /ws:\/\/127\.0\.0\.1:\S+/.exec(text);
      if (at) found(at[0]);
    });
  }), "the browser listens");
  const socket = new WebSocket(url);
  await within(new Promise((open) => (socket.onopen = open)), "the browser answers");
  const waiting = new Map();
  const pages = new Map();
  let last = 0;
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.id) waiting.get(message.id)(message);
    else pages.get(message.sessionId)?.(message);
  };
  const send = (method, params = {}, sessionId = undefined) => within(new Promise((done, fail) => {
    waiting.set((last += 1), (message) => (message.error ? fail(new Error(`${method}: ${message.error.message}`)) : done(message.result)));
    socket.send(JSON.stringify({ id: last, method, params, sessionId }));
  }), method);
  return { child, page: (address, dark) => page(send, pages, address, dark) };
}

async function page(send_, pages, address, dark) {
  const { targetId } = await send_("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send_("Target.attachToTarget", { targetId, flatten: true });
  const send = (method, params) => send_(method, params, sessionId);
  const troubles = [];
  pages.set(sessionId, ({ method, params }) => {
    if (method === "Log.entryAdded" && !/status of (401|404|409)/.test(params.entry.text)) troubles.push(params.entry.text);
    else if (method === "Runtime.exceptionThrown") troubles.push(params.exceptionDetails.exception?.description);
    // The browser asks before it leaves a page with a running turn.
    else if (method === "Page.javascriptDialogOpening") send("Page.handleJavaScriptDialog", { accept: true });
  });
  const run = async (expression) => {
    const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  const until = async (expression, what) => {
    for (const late = Date.now() + PATIENCE; Date.now() < late; await wait(50)) {
      // Evaluation fails while the page loads.
      if (await run(expression).catch(() => false)) return check(true, what);
    }
    throw new Error(`timed out waiting for: ${what}\n${await run("document.body.innerText")}\n${troubles.join("\n")}`);
  };
  const shows = (text, what) => until(`document.getElementById("log").innerText.includes(${JSON.stringify(text)})`, what);
  const key = async (name, modifiers = 0) => {
    const codes = { Enter: 13, Escape: 27, Tab: 9, " ": 32, ArrowUp: 38, ArrowDown: 40 };
    const isLetter = /^[a-z]$/.test(name);
    const text = name === "Enter" ? "\r" : name === " " || isLetter ? name : undefined;
    const code = name === " " ? "Space" : isLetter ? `Key${name.toUpperCase()}` : name;
    const params = { key: name, code, windowsVirtualKeyCode: codes[name] ?? name.toUpperCase().charCodeAt(0), modifiers };
    await send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", text, ...params });
    await send("Input.dispatchKeyEvent", { type: "keyUp", ...params });
  };
  const write = (text) => send("Input.insertText", { text });
  const size = (width, height) => send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 500 });
  const media = (kind) => send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: kind }] });
  const one = {
    run, until, shows, key, write, size, media, troubles, send,
    click: (query) => run(`document.querySelector(${JSON.stringify(query)}).click()`),
    press: (name) => run(`[...document.querySelectorAll("button")].find((one) => one.textContent === ${JSON.stringify(name)}).click()`),
    focused: () => run("document.activeElement.id || document.activeElement.className || document.activeElement.tagName"),
    /** Reloads the page and waits until the new document has replaced the old one. */
    async reload() {
      await run(`window.isBefore = true; location.reload()`);
      await until(`!window.isBefore && document.getElementById("log")`, "the page is loaded again");
    },
    /** Types a prompt with the keyboard and sends it. */
    async ask(text) {
      await until(READY, "a message can be sent");
      await run(`document.getElementById("prompt").focus()`);
      await write(text);
      await key("Enter");
    },
    async picture(name) {
      if (!pictures) return;
      const { data } = await send("Page.captureScreenshot");
      writeFileSync(join(pictures, name + ".png"), Buffer.from(data, "base64"));
    },
    /** Checks that no displayed text became an element, and that the browser reported no errors. */
    async inert(what) {
      check(await run(`window.pwned === undefined && !document.querySelector("#log :is(img, script, svg, iframe, style)") &&
        [...document.querySelectorAll("a")].every((one) => /^(https?|mailto):/.test(one.href))`), `${what}: markup in texts stays text`);
      check(troubles.length === 0, `${what}: the browser reports no errors ${troubles.join("; ")}`);
    },
    /** Checks that the page fits a phone, also with an open keyboard, and that it is accessible. */
    async fits(state) {
      await size(360, 640);
      const wide = await run(`[...document.querySelectorAll("body *")].filter((one) => one.checkVisibility() && !one.closest(".wide, pre") &&
        one.getBoundingClientRect().right > 360.5).map((one) => one.outerHTML.slice(0, 200)).join("\\n")`);
      check(await run("document.documentElement.scrollWidth <= 360") && !wide, `${state}: it fits 360 pixels ${wide}`);
      await this.picture(`${state}-phone`);
      await size(360, 360);
      check(await run("document.getElementById('ask').getBoundingClientRect().bottom <= 360.5 && document.documentElement.scrollHeight <= 360"),
        `${state}: it fits the space above a keyboard`);
      await this.picture(`${state}-low`);
      await size(1000, 800);
      await this.picture(state);
      await this.accessible(state);
    },
    /** Checks that the accessibility checker finds nothing, in the light and in the dark scheme. */
    async accessible(state) {
      for (const kind of ["light", "dark"]) {
        await media(kind);
        if (!process.env.AXE) continue;
        await run("window.axe ? 1 : 0") || await run(readFileSync(process.env.AXE, "utf8") + "; 1");
        const found = await run(`axe.run(document, { resultTypes: ["violations"] }).then((done) => done.violations.map((one) =>
          one.id + ": " + one.help + "\\n" + one.nodes.map((at) => "    " + at.html.slice(0, 200) + "\\n" + at.failureSummary).join("\\n")))`);
        check(found.length === 0, `${state}, ${kind}: the accessibility checker finds nothing ${found.join("\n")}`);
      }
      await media(dark ? "dark" : "light");
    },
  };
  for (const part of ["Page", "Runtime", "Log"]) await send(part + ".enable");
  await media(dark ? "dark" : "light");
  await size(1000, 800);
  await send("Page.navigate", { url: address });
  return one;
}

const READY = `document.querySelectorAll("#tool option").length > 5 && !document.getElementById("send").disabled`;
const ASKED = `document.querySelector(".question")`;

// The scenes ----------------------------------------------------------------------------------------------------------------------

async function scenes() {
  const { WORDS } = await import(new URL("../crates/server/src/http/page/words.js", import.meta.url));
  const keys = (of) => Object.entries(of).flatMap(([name, text]) => (typeof text === "string" ? name : keys(text).map((one) => `${name}.${one}`)));
  check(`${keys(WORDS.en)}` === `${keys(WORDS.pt)}`, "both languages have the same texts");

  check(spawnSync("git", ["init", "-q", "-b", "feature/page", project]).status === 0, "the project is a repository");
  let server = await served("127.0.0.1:0", TOKEN);
  const english = await browser("en-US");
  const first = await english.page(`${server.address}/#token=${TOKEN}`, false);
  await first.until(READY, "the page lists the tools, so the cookie is accepted");
  check(await first.run("location.href") === server.address + "/", "the token is removed from the address");
  check(!(await first.run("document.cookie")), "scripts cannot read the cookie");
  check(await first.focused() === "prompt", "the prompt has the focus");
  await first.fits("start");

  await phone(first);
  await markdown(first);
  await turnEvents(first);
  await outcomes(first);
  await code(first);
  await questions(first);
  await keys(first);
  await composer(first);
  await changes(first);
  await outputs(first);
  await stops(first);
  await continues(first);
  await breaks(english, server);
  await reloads(first, server);
  await column(first);
  await tabs(first, english, server);
  await keyboard(first);
  server = await restarts(first, server);
  await personas(first);
  const start = (options) => served("127.0.0.1:0", TOKEN, ...options);
  await webchat({ browser: english, project, token: TOKEN, start, ended, within, check, call });
  await first.inert("at the end");
  await pasted(first, "another-token-of-it");
  await ended(server.child);
  await first.ask("Are you still there?");
  await first.shows("cannot be reached", "the page reports a server that is gone");
  check(await first.run(`document.getElementById("prompt").value`) === "Are you still there?", "the prompt is kept");
  await ended(english.child);

  await portuguese();
}

/** Tests a narrow window, and one that a keyboard makes low: the form has one row, and the important parts stay visible. */
async function phone(one) {
  const height = (query) => one.run(`document.querySelector(${JSON.stringify(query)}).getBoundingClientRect().height`);
  const seen = (query) => one.run(`(() => { const at = document.querySelector(${JSON.stringify(query)}).getBoundingClientRect();
    const log = document.getElementById("log").getBoundingClientRect(); return at.top >= log.top - 1 && at.bottom <= log.bottom + 1; })()`);
  const prompt = `document.getElementById("prompt")`;
  await one.size(360, 640);
  await one.until(`document.getElementById("ask").getBoundingClientRect().height <= 64`, "on a phone the form has one row");
  check(!await one.run(`document.getElementById("tool").checkVisibility()`), "the options are hidden");
  await one.click("#more");
  check(await one.run(`document.getElementById("tool").checkVisibility() && document.getElementById("more").ariaExpanded === "true"`), "a button shows the options");
  await one.run(`document.getElementById("tool").value = "bash"; document.getElementById("tool").dispatchEvent(new Event("change", { bubbles: true }))`);
  await one.picture("options-phone");
  check(await one.run(`document.getElementById("more").matches(".set")`), "the button marks that an option was chosen");
  await one.run(`document.getElementById("tool").value = "auto"; document.getElementById("tool").dispatchEvent(new Event("change", { bubbles: true }))`);
  check(!await one.run(`document.getElementById("more").matches(".set")`), "the button has no mark without a chosen option");
  await one.click("#more");
  const row = await height("#prompt");
  await one.run(`${prompt}.focus()`);
  await one.write("a line\n".repeat(20));
  const grown = await height("#prompt");
  check(grown > 3 * row && grown <= 200, `the prompt grows with its lines up to a limit: ${row}, ${grown}`);
  await one.picture("typed-phone");
  await one.size(360, 360);
  await one.until(`${prompt}.getBoundingClientRect().height <= 130`, "the prompt shrinks in a low window");
  await one.run(`${prompt}.value = ""; ${prompt}.dispatchEvent(new Event("input")); 0`);
  check(await height("#prompt") === row, "an empty prompt has one row again");
  // The first question does not fit above an on-screen keyboard, and the second one does.
  const content = "a new line of some length, so that it is broken on a phone\n".repeat(100);
  model.replies = [call("write_file", { path: "new/Makefile", content }), "It is there.", call("bash", { command: "rm nothing", network: true }), "It is gone."];
  await one.ask("Write it.");
  await one.until(ASKED, "a question is open");
  check(await seen(".question h2"), "the beginning of a long question is visible");
  check(await seen(".question .row"), "its buttons are visible");
  check(await one.run(`document.querySelectorAll(".question .diff .added").length === 57 && !document.querySelector(".question .removed")`),
    "a new file is shown as its first lines, all added");
  await one.picture("new-file-low");
  await one.press("Show all lines: 103");
  check(await one.run(`document.querySelectorAll(".question .diff .added").length === 100`), "a button shows all lines");
  await one.press("Run it");
  await one.shows("It is there.", "an answer is displayed");
  await one.size(360, 640);
  await one.ask("Remove it.");
  await one.until(ASKED, "a question is open");
  check(await seen(".question"), "a short question is visible");
  await one.picture("question-high");
  await one.size(360, 360);
  await one.until(`(() => { const at = document.querySelector(".question h2").getBoundingClientRect(); return at.top >= 0 && at.bottom < 300; })()`,
    "it stays visible when a keyboard opens");
  check(!await one.run(`document.querySelector(".question input").checkVisibility()`), "the field for a reason is hidden");
  await one.press("No, because ...");
  check(await one.run(`document.activeElement === document.querySelector(".question input")`), "a button shows the field");
  await one.size(360, 300);
  await one.until(`(() => { const at = document.activeElement.getBoundingClientRect(); return at.bottom <= document.querySelector(".question .row").getBoundingClientRect().top + 1; })()`,
    "the field with the focus stays visible");
  await one.write("Not now");
  await one.press("Deny");
  await one.shows("It is gone.", "an answer is displayed");
  // Errors are visible even if the user has scrolled up.
  await one.size(360, 640);
  await one.run(`document.getElementById("log").scrollTop = 0; window.real = window.fetch; window.fetch = async () => new Response('{"message": "It cannot be."}', { status: 409 }); 0`);
  await one.ask("Fail.");
  await one.shows("It cannot be.", "an error is displayed");
  check(await seen("#log .bad"), "the error is visible");
  await one.picture("error-phone");
  await one.size(360, 360);
  await one.until(`(() => { const at = [...document.querySelectorAll("#log .bad")].at(-1).getBoundingClientRect(); return at.top >= 0 && at.bottom <= document.getElementById("log").getBoundingClientRect().bottom + 1; })()`,
    "the error stays visible when a keyboard opens");
  await one.run(`window.fetch = window.real; ${prompt}.value = ""; ${prompt}.dispatchEvent(new Event("input")); 0`);
  await one.size(1000, 800);
  await one.click("#fresh");
}

/** Tests that the model's Markdown is rendered, and that hostile markup stays text. */
async function markdown(one) {
  const text = "# A plan\n\n" + HOSTILE + "\n\n## Steps\n\n1. Read `seen.txt`.\n2. Change it:\n   - **first** this\n   - then *that*\n3. ~~Nothing~~ more.\n\n" +
    "| file | lines | what |\n|---|--:|:-:|\n| `src/main.rs` | 120 | the program |\n| <img src=x onerror=window.pwned=1> | 3 | a \\| b |\n\n" +
    "> A quote with [a page](https://example.org/a) and <https://example.org/b>.\n\n~~~js\n" + HOSTILE + "\n~~~\n\n- [x] done\n- [ ] not yet\n\n---\n\n" +
    "[bad](javascript:alert(1)) [worse](data:text/html,x) ![image](http://127.0.0.1:9/x.png) [https://a.example](https://b.example/)\n\n";
  model.replies = [text + call("read_file", { path: "seen.txt" }), call("list_files", { path: "." }), "**All** of it is read."];
  await one.ask("Read the file.");
  await one.shows("All of it is read.", "the answer is displayed");
  const has = (query, count) => one.run(`document.querySelectorAll("#log .answer ${query}").length === ${count}`);
  check(await has("h2", 1) && await has("h3", 1), "headings are headings");
  check(await has("ol > li", 3) && await has("ol > li ul > li", 2) && await has("table td", 6) && await has("blockquote", 1), "lists, tables and quotes are there");
  check(await has("pre code", 1) && await has("hr", 1) && await has("del", 1) && await has("em", 1) && await has("strong", 2), "code and emphasis are there");
  const links = await one.run(`[...document.querySelectorAll("#log a")].map((one) => one.getAttribute("href") + " " + one.rel + " " + one.textContent).join("\\n")`);
  check(links === ["https://example.org/a noopener noreferrer a page", "https://example.org/b noopener noreferrer https://example.org/b",
    "http://127.0.0.1:9/x.png noopener noreferrer image", "https://b.example/ noopener noreferrer https://a.example (https://b.example/)"].join("\n"),
    `only safe links are links, and they show their targets: ${links}`);
  check(await one.run(`document.querySelector("#log details > pre").textContent.includes(${JSON.stringify(HOSTILE)})`), "the content of a file is shown unchanged");
  await one.run(`document.querySelectorAll("#log details").forEach((one) => (one.open = true))`);
  await one.shows(NAME, "a file name is shown unchanged");
  await one.inert("Markdown");
  await one.fits("answer");
  // Rendering a text in pieces gives the same result as rendering it whole, and takes linear time for long texts.
  const same = await one.run(`(async () => {
    const { StreamedText, rendered } = await import("/markdown.js");
    const { node } = await import("/nodes.js");
    const text = ${JSON.stringify(text + "1. a\n\n   b\n2. c\n\n```\nopen")}.repeat(3);
    const coming = new StreamedText((change) => change());
    for (let at = 0; at < text.length; at += 3) {
      coming.push(text.slice(at, at + 3));
      if (at % 60) continue;
      coming.hurry();
      await coming.drawing;
    }
    await coming.finish();
    return coming.node.isEqualNode(node("article", "answer", await rendered(text))) ? "" : coming.node.textContent.slice(0, 3000);
  })()`);
  check(same === "", `a text in pieces is rendered like the whole text ${same}`);
  const slow = await one.run(`(async () => {
    const { rendered } = await import("/markdown.js");
    const slow = [];
    for (const piece of ["*a ", "**a", "[a](", "[", "](", "\`", "\`\` \` ", "> ", "- ", "1. a\\n", "|a|b\\n|-|-\\n", "_a_", "~~", "\\\\", "<", "http://", "#", "# a\\n",
      "- a\\n  - b\\n", "a\\n", "\\n", "   - a\\n\\n", "***", "![", "*a_b~~", "\`\`\`\\n", "a|", "é*"]) {
      const time = async (size) => {
        const text = piece.repeat(size / piece.length);
        const began = performance.now();
        await rendered(text);
        return performance.now() - began;
      };
      const [short, long] = [await time(20000), await time(160000)];
      if (long > 2000 && long > 30 * short) slow.push(JSON.stringify(piece) + ": " + short + " ms, " + long + " ms");
    }
    return slow.join("\\n");
  })()`);
  check(slow === "", `the time is linear in the length of the text ${slow}`);
}

/** Tests how the page displays the events of a turn, with the responses replaced in the page. */
async function turnEvents(one) {
  await one.click("#fresh");
  const prompt = `document.getElementById("prompt").value`;
  const turn = async (prompt, status, body) => {
    await one.run(`window.fetch = async (path, options) => path.endsWith("/turns") ? new Response(${JSON.stringify(body)}, { status: ${status} }) :
      (window.asked = path, real(path, options))`);
    await one.ask(prompt);
  };
  const events = (...all) => all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const text = (text) => ({ event: "text", text });
  const stop = { event: "stop", reason: "answered" };
  await one.run(`window.real = window.fetch; 0`);
  await turn("In one.", 200, events(text("1. one\n"), { event: "ignored" }, text("2. two\n"), { event: "started", name: "bash" }, text("3. three\n"),
    { event: "compacted" }, text("4. **fo"), { event: "reasoning", text: "" }, text("ur**\n"), { event: "call" }, text("5. five\n"), stop));
  await one.shows("five", "a list is displayed");
  check(await one.run(`document.querySelectorAll("#log .answer").length === 1 && document.querySelectorAll("#log .answer > ol > li").length === 5`),
    "events without text do not split a list");
  await turn("Think.", 200, events(text("First a **thought**."), { event: "reasoning", text: "", unopened: true }, text("The answer."), stop));
  await one.shows("The answer.", "an answer follows a thought");
  check(await one.run(`[...document.querySelectorAll("#log .thought .answer strong")].map((one) => one.textContent).join() === "thought" &&
    document.querySelector("#log .thought").nextElementSibling.textContent === "The answer."`), "the thought is folded");
  const line = (digit) => `[TRUNCATED: the whole output is in .toolfence/output/${digit.repeat(16)}.txt]`;
  const output = `${line("a")}\nand .toolfence/output/${"c".repeat(16)}.txt\n${line("b")}\nsee .toolfence/output/${"d".repeat(16)}.txt`;
  await turn("Print.", 200, events({ event: "running", id: "1", tool: "bash", args: {} },
    { event: "result", id: "1", success: true, truncated: true, execution_time_ms: 1, output, data: { output_id: "e".repeat(16) } }, text("Printed."), stop));
  await one.shows("Printed.", "an output is displayed");
  await one.press("Show all");
  await one.until(`window.asked.startsWith("/api/outputs/${"e".repeat(16)}?")`, "the button requests the output of the result, not one that a program names");
  // Two replies without a result between them, as after a call that cannot be read.
  const piece = (text, start) => ({ event: "text", text, span: [start, start + text.length] });
  await turn("Twice.", 200, events(piece("One of ", 0), piece("two.", 7), piece("Two ", 0), piece("of two.", 4), stop));
  await one.shows("Two of two.", "two replies are displayed");
  check(await one.run(`[...document.querySelectorAll("#log .answer")].slice(-2).map((one) => one.textContent).join("|")`) === "One of two.|Two of two.",
    "each reply is an article of its own");
  await one.run(`window.fetch = async (path, options) => path.endsWith("/turns") ?
    (document.getElementById("prompt").value = "typed", new Response('{"message": "Not now."}', { status: 409 })) : real(path, options); 0`);
  await one.ask("Refused.");
  await one.until(`${prompt} === "Refused.\\n\\ntyped"`, "a refused prompt returns to the field, before the text typed meanwhile");
  await one.run(`window.fetch = async () => new Response("<h1>Bad gateway</h1>", { status: 502 }); ${prompt} = ""; 0`);
  await one.ask("Gone.");
  await one.shows("cannot be reached", "a response that is not JSON counts as an unreachable server");
  await one.run(`window.fetch = window.real; ${prompt} = ""; 0`);
  const unseen = await one.run(`import("/nodes.js").then(({ plain }) => plain("\\u00ad\\u034f\\u115f\\u17b4\\u180b\\u2800\\u3164\\ufe0f\\uffa0\\u{e0fff}a\\n\\u00e9"))`);
  check(unseen === "ad 34f 115f 17b4 180b 2800 3164 fe0f ffa0 e0fff".split(" ").map((code) => `\\u{${code}}`).join("") + "a\né", `invisible characters are escaped ${unseen}`);
  const links = await one.run(`import("/markdown.js").then(async ({ rendered }) => (await rendered("[bank.example](https://thief.example/) " +
    "[bank.example/in](https://bank.example/) [a@bank.example](mailto:a@bank.example) [the page](https://bank.example/)"))[0].textContent)`);
  check(links === "bank.example (https://thief.example/) bank.example/in a@bank.example the page", `a link shows its address if the host differs from its text ${links}`);
  await one.click("#fresh");
}

/** Pastes an address with a token into the open page. */
async function pasted(one, token) {
  await one.run(`window.before = 1; localStorage.clear(); location.hash = "token=${token}"; 0`);
  await one.until(`!window.before && !document.getElementById("entry").open && ${READY}`, "a token that is pasted into the open page is accepted");
  check(!(await one.run("location.href")).includes("token"), "the pasted token is removed from the address");
}

/** Tests that a folded call shows its outcome, and that only failures are red. */
async function outcomes(one) {
  await one.click("#fresh");
  check(await one.run(`document.getElementById("facts").innerText`).then((text) => /^project\s*feature\/page\s*m$/.test(text)),
    "the header names the project, the branch and the model");
  check(await one.run(`document.querySelector("#facts .model").title`).then((title) => title.endsWith("/v1)")), "its tooltip names the server of the model");
  model.replies = [call("read_file", { path: "lines.txt" }), call("bash", { command: "echo one; echo 'error: no rule' >&2; echo three; exit 2" }),
    call("read_file", { path: "nothing.txt" }), call("bash", { command: "rm -r nothing", network: true }), "All of it was tried."];
  await one.ask("Try all.");
  await one.until(ASKED, "a question is open");
  await one.press("No, because ...");
  await one.write("It is needed.");
  await one.press("Deny");
  await one.shows("All of it was tried.", "the turn ends");
  const lines = await one.run(`[...document.querySelectorAll("#log summary")].map((one) => [...one.children].map((part) => part.textContent).join(" | "))`);
  check(lines[0] === "read_file lines.txt | 400 lines", `a reading call shows the number of lines: ${lines[0]}`);
  check(lines[1].endsWith("| failed | exit 2 | error: no rule"), `a failed command shows the exit status and the first line of the error: ${lines[1]}`);
  check(lines[2].startsWith("read_file nothing.txt | failed | \"nothing.txt\" does not exist."), `a failed call shows the error: ${lines[2]}`);
  check(lines[3] === "bash rm -r nothing | denied | It is needed.", `a denied call shows the reason: ${lines[3]}`);
  const colours = await one.run(`[...document.querySelectorAll("#log .badge")].map((one) => getComputedStyle(one).color)`);
  check(colours[0] === colours[1] && colours[2] !== colours[0], "a failure has another colour than a denied call");
  check(!await one.run(`document.getElementById("log").innerText.includes("You denied")`), "the denial is displayed only once");
  await one.until(`/\\dk? tokens$/.test(document.getElementById("facts").innerText)`, "the header shows the tokens of the conversation");
  const summaries = `[...document.querySelectorAll("#log summary")].map((one) => one.textContent).join("\\n")`;
  const before = await one.run(summaries);
  await one.reload();
  await one.until(`document.querySelectorAll("#log summary").length === 4`, "the conversation is loaded again");
  const after = await one.run(summaries);
  check(after === before, `its calls look the same: ${after}`);
  await one.until(`/\\dk? tokens$/.test(document.getElementById("facts").innerText)`, "and the header shows its tokens");
  await one.fits("outcomes");
}

/** Tests that code has colours, and that code and answers have a button that copies them. */
async function code(one) {
  await one.send("Browser.grantPermissions", { permissions: ["clipboardReadWrite", "clipboardSanitizedWrite"] });
  const answer = "Like this:\n\n```rust\n// It adds.\nlet sum = 1 + \"two\";\n```\n\nAnd that is all.";
  model.replies = [answer];
  await one.ask("Show me.");
  await one.shows("And that is all.", "an answer with code comes");
  await one.until(READY, "it is complete");
  const tokens = await one.run(`[...document.querySelectorAll("#log .answer pre span")].map((one) => one.className + " " + one.textContent).join("\\n")`);
  check(tokens === "comment // It adds.\nkeyword let\nnumber 1\nstring \"two\"", `code has colours: ${tokens}`);
  check(await one.run(`document.querySelector("#log .answer .bar span").textContent`) === "rust", "the language of the code is named");
  const copied = async (query, text, what) => {
    await one.run(`document.querySelector(${JSON.stringify(query)}).focus()`);
    await one.key("Enter");
    await one.until(`navigator.clipboard.readText().then((text) => text === ${JSON.stringify(text)})`, what);
    check(await one.run(`document.getElementById("said").textContent`) === "Copied", "screen readers announce the copy");
  };
  await copied("#log .answer .copy", "// It adds.\nlet sum = 1 + \"two\";", "the code is copied");
  await copied("#log .footer:last-child .copy", answer, "the answer is copied as it was written");
  await one.fits("code");
}

/** Tests the keys for yes and no, and editing a call. */
async function keys(one) {
  const KEYS = `document.querySelector(".question.takes-keys")`;
  await one.click("#fresh");
  const [begins, go] = halting("I begin.\n");
  const second = call("write_file", { path: "keys.txt", content: "1\n" });
  model.replies = [async (say) => {
    await begins(say);
    say(second);
  }, "It is written."];
  await one.ask("Write it.");
  await one.shows("I begin.", "a turn runs");
  await one.run(`document.getElementById("prompt").focus()`);
  await one.write("Why");
  go();
  await one.until(KEYS, "a question appears while the user types");
  check(await one.focused() === "prompt", "the focus stays in the prompt");
  await one.key("y");
  check(await one.run(`document.getElementById("prompt").value`) === "Whyy" && await one.run(`Boolean(${ASKED})`), "in the prompt a letter is text");
  await one.run(`document.querySelector(".question").focus()`);
  check(await one.run(`document.querySelector(".question h2").textContent`) === "May it change keys.txt?", "the question names the file");
  await one.key("y");
  await one.shows("It is written.", "the key for yes runs the call");
  check(existsSync(join(project, "keys.txt")), "the file is written");
  check(await one.run(`document.getElementById("prompt").value`) === "Whyy", "the typed text is kept");
  await one.run(`document.getElementById("prompt").value = ""; 0`);
  model.replies = [call("bash", { command: "touch /tmp/first", network: true }), "Not done."];
  await one.ask("Fetch it.");
  await one.until(KEYS, "a question is open");
  await one.press("Edit");
  check(await one.run(`document.activeElement.value`) === "touch /tmp/first", "the arguments can be edited");
  await one.fits("edit");
  await one.run(`document.activeElement.select()`);
  await one.write("echo second");
  await one.run(`document.querySelectorAll(".question textarea")[1].value = "no JSON"; 0`);
  await one.press("Run the edited call");
  check(await one.run(`Boolean(document.querySelector(".question textarea:invalid"))`), "invalid JSON is not sent");
  await one.run(`document.querySelectorAll(".question textarea")[1].value = "true"; 0`);
  await one.press("Run the edited call");
  await one.until(`document.querySelector(".question pre")?.textContent === "echo second"`, "the edited call asks again");
  check(await one.run(`[...document.querySelectorAll(".question button")].map((one) => one.textContent)`).then((all) => all.includes("Always in this turn")),
    "the edited call can be allowed for the whole turn");
  await one.until(KEYS, "it takes keys");
  await one.key("n");
  await one.shows("Not done.", "the key for no denies it");
  check(await one.run(`[...document.querySelectorAll("#log summary")].at(-1).innerText`).then((text) => /^bash echo second\s*denied$/.test(text)), "the denied call is the edited one");
}

/** Tests that the prompt grows, recalls earlier prompts, and completes file names. */
async function composer(one) {
  const prompt = `document.getElementById("prompt")`;
  const value = () => one.run(`${prompt}.value`);
  const names = `[...document.querySelectorAll("#names:not([hidden]) li")].map((one) => one.textContent).join()`;
  const clear = () => one.run(`${prompt}.value = ""; ${prompt}.dispatchEvent(new Event("input")); ${prompt}.focus()`);
  await one.click("#fresh");
  model.replies = ["One.", "Two."];
  await one.ask("The first of them.");
  await one.shows("One.", "an answer is displayed");
  await one.ask("The second of them.");
  await one.shows("Two.", "another answer is displayed");
  await one.until(READY, "it is complete");
  await one.write("a draft");
  await one.key("ArrowUp");
  await one.until(`${prompt}.value === "The second of them."`, "Up recalls the last prompt");
  await one.key("ArrowUp");
  await one.until(`${prompt}.value === "The first of them."`, "Up again recalls the one before");
  await one.key("ArrowDown");
  await one.until(`${prompt}.value === "The second of them."`, "Down returns to the last prompt");
  await one.key("ArrowDown");
  await one.until(`${prompt}.value === "a draft"`, "Down again returns to the draft");
  await clear();
  check(await one.run(`${prompt}.rows`) === 1, "the prompt has one row");
  await one.write("a\nb\nc");
  await one.key("ArrowUp");
  await one.until(`${prompt}.selectionStart === 3`, "in a text of several lines Up moves the cursor");
  check(await value() === "a\nb\nc", "the text is unchanged");
  await one.write("\n".repeat(30));
  check(await one.run(`${prompt}.rows`) === 10, "it grows up to ten rows");
  await clear();
  await one.write("see @sou");
  await one.until(`${names} === "source/"`, "names of folders are offered");
  await one.fits("names");
  await one.key("Tab");
  await one.until(`${names} === "source/first file.rs,source/second.rs"`, "then the files in the folder are offered, without the ignored one");
  await one.key("ArrowDown");
  check(await one.run(`document.getElementById(${prompt}.getAttribute("aria-activedescendant")).textContent`) === "source/second.rs", "an arrow chooses one");
  await one.key("Enter");
  check(await value() === "see source/second.rs ", "Enter completes the name and sends nothing");
  await one.write("and @M");
  await one.until(`${names} === "Makefile"`, "another name is offered");
  await one.key("Escape");
  check(await one.run(`${names}`) === "" && await value() === "see source/second.rs and @M", "Escape closes the list");
  await clear();
  await one.write("@.g");
  await one.until(`${names} === ".git/,.gitignore"`, "hidden files are offered after a dot");
  await clear();
  await one.write("@.e");
  await one.until(`fetch("/api/files?prefix=.e", { headers: { "X-Page-Key": localStorage.getItem("toolfence") } }).then((answer) => answer.json()).then((answer) => answer.data.files.length === 0)`,
    "a blocked file is not offered");
  await clear();
}

/** Tests the column with the conversations in a wide window. */
async function column(one) {
  await one.size(1280, 800);
  const rows = `[...document.querySelectorAll("#side li:not([hidden]) button[data-id]")]`;
  await one.until(`${rows}.length > 2 && !document.getElementById("past").checkVisibility()`, "the conversations are in a column");
  const open = `document.querySelector("#side [aria-current]")?.dataset.id`;
  await one.until(`location.hash === "#session=" + ${open}`, "the open one is marked");
  await one.picture("column");
  await one.accessible("column");
  await one.run(`${rows}.find((one) => one.textContent.includes("Read the file.")).click()`);
  await one.until(`${READY} && document.getElementById("log").innerText.includes("All of it is read.") && location.hash === "#session=" + ${open}`,
    "another conversation is opened and marked");
  await one.run(`document.getElementById("find").focus()`);
  await one.write("THE read");
  check(await one.run(`${rows}.map((one) => one.querySelector(".title").textContent).join()`) === "Read the file.", "a search shows only the conversations with its words");
  await one.write(" nowhere");
  check(await one.run(`document.querySelector("#side .none").textContent`) === "No conversation has these words.", "a search without matches says so");
  await one.run(`document.getElementById("find").value = ""; document.getElementById("find").dispatchEvent(new Event("input")); 0`);
  const times = await one.run(`import("/sessions.js").then(({ ago }) => [1e3, 3 * 3600e3, 25 * 3600e3].map((past) => ago(new Date(Date.now() - past))).join() + "," + ago("2020-02-03T12:00:00Z"))`);
  check(times === "this minute,3 hours ago,yesterday,2020-02-03", `recent times are relative, older ones are ISO 8601 dates: ${times}`);
  await one.click("#fresh");
  check(await one.run(`document.querySelector("#log .last .title").textContent`) === "Read the file.", "an empty page offers the last conversation");
  await one.press("Explain how this project is built.");
  check(await one.run(`document.getElementById("prompt").value`) === "Explain how this project is built.", "an empty page offers examples of prompts");
  await one.picture("column-empty");
  await one.accessible("empty");
  model.replies = ["It is not built."];
  await one.key("Enter");
  await one.shows("It is not built.", "an example can be sent");
  await one.until(`${rows}[0].textContent.includes("Explain how") && ${rows}[0].dataset.id === ${open}`, "the new conversation is the first of the list");
  check(await one.run(`!document.querySelector("#log .empty")`), "the examples are gone");
  await one.click("#fresh");
  await one.click("#log .last");
  await one.until(`${READY} && document.getElementById("log").innerText.includes("It is not built.")`, "the last conversation is open again");
  await one.size(1000, 800);
  await one.until(`document.getElementById("past").checkVisibility() && !document.getElementById("side").checkVisibility()`, "a narrow window has no column");
}

/** Tests the content of questions, and each way to answer them. */
async function questions(one) {
  const content = "all:\n\techo one\n\techo 2\n\ntest:\n\techo test\n\techo \u202e" + HOSTILE + "\n";
  const command = `curl https://example.org/ > '${NAME}'`;
  model.replies = [call("write_file", { path: "Makefile", content }), "Done, and the file is there.", call("bash", { command, network: true }), "Then not."];
  await one.ask("Change the Makefile.");
  await one.until(ASKED, "a question is open");
  check(await one.focused() === "question", "the question has the focus, not one of its buttons");
  const diff = await one.run(`[...document.querySelectorAll(".question .diff span[class]")].map((one) => one.className + " " + one.textContent.slice(0, 20)).join("\\n")`);
  check(diff.includes("removed -\techo two") && diff.includes("added +\techo 2"), `the question shows the change ${diff}`);
  check(diff.startsWith("file Makefile\n") && !/[-+]{3} /.test(diff), "the name of the file is a heading");
  const rows = await one.run(`[...document.querySelectorAll(".question .diff [data-number]")].map((one) => one.dataset.number + one.textContent.trimEnd())`);
  check(rows[0] === "1 all:" && rows.includes("3-\techo two") && rows.includes("3+\techo 2"), `lines have numbers: ${rows}`);
  check(await one.run(`[...document.querySelectorAll(".question .diff mark")].map((one) => one.textContent).slice(0, 2).join()`) === "two,2", "changed words are marked");
  check(await one.run(`(() => { const [line, all] = [".question .added", ".question .diff"].map((one) => document.querySelector(one).getBoundingClientRect()); return line.width === all.width; })()`),
    "the colour of a line ends with the block");
  check(await one.run(`document.querySelector(".question .diff").textContent.includes("\\\\u{202e}<script>")`), "characters that reverse the text are escaped");
  await one.inert("a question");
  await one.fits("question");
  // Escape in a question does not stop the turn.
  await one.key("Escape");
  await one.key("Tab");
  await one.press("Run it");
  await one.shows("Done, and the file is there.", "the answer is displayed");
  check(readFileSync(join(project, "Makefile"), "utf8") === content, "the file is written");
  check(await one.focused() === "prompt", "the focus is back at the prompt");
  await one.ask("Fetch it.");
  await one.until(ASKED, "another question is open");
  check(await one.run(`document.querySelector(".question pre").textContent`) === command, "the question shows the whole command");
  await one.press("No, because ...");
  await one.write("Keep it.");
  await one.key("Enter");
  await one.shows("Then not.", "the turn continues after a denial");
  check(await one.run(`[...document.querySelectorAll("#log summary .name")].at(-1).textContent`) === `bash ${command}`, "the denied call shows its command");
  check(model.seen.at(-1).at(-1).content.includes("Keep it."), "the reason is sent to the model");
  await one.click("#undo");
  await one.until(`document.querySelector("#log ul .bad, #log .note ul")?.textContent.includes("Makefile")`, "undo lists the restored files");
  check(readFileSync(join(project, "Makefile"), "utf8").includes("echo two"), "the file is restored");
  await one.press("Redo");
  await one.until(`document.querySelectorAll("#log .note ul").length === 2`, "redo lists the changed files");
  check(readFileSync(join(project, "Makefile"), "utf8").includes("echo 2"), "the change is made again");
}

/** Tests questions about the changes of a command on its private copy of the project, and each way to answer them. */
async function changes(one) {
  const file = (name) => existsSync(join(project, name));
  const pressed = async (prompt, command, button, reply) => {
    model.replies = [call("bash", { command }), reply];
    await one.ask(prompt);
    await one.until(ASKED, "a question is open");
    if (button) await one.press(button);
  };
  const command = `rm '${NAME}'; seq 80 > many.txt`;
  await pressed("Remove it.", command, "", "Then it stays.");
  const title = await one.run(`document.querySelector(".question h2").textContent`);
  check(title.startsWith(`\`${command.slice(0, 60)}`) && title.endsWith(" changed 2 files. Keep the changes?"), `the question names the command and the number of files: ${title}`);
  check(await one.focused() === "question", "the question has the focus, not one of its buttons");
  const lines = await one.run(`document.querySelector(".question .diff").textContent.split("\\n")`);
  check(lines[0] === `removed: ${NAME}` && lines.includes("+1"), `removals are shown first: ${lines.slice(0, 6)}`);
  check(await one.run(`[...document.querySelectorAll(".question .row button")].map((one) => one.textContent).join()`) ===
    "Keep,Discard,No, because ...,Always in this turn,All changes in this project", "the question has five buttons");
  check(file(NAME) && !file("many.txt"), "the project is unchanged before the answer");
  await one.inert("a question about changes");
  await one.fits("changes");
  await one.press("No, because ...");
  await one.write("Keep that file.");
  await one.press("Discard");
  await one.shows("Then it stays.", "the turn continues after the changes are discarded");
  await one.shows("You discarded the changes. Keep that file.", "the page shows the decision and the reason");
  check(model.seen.at(-1).at(-1).content.includes("Keep that file."), "the model gets the reason");
  check(file(NAME) && !file("many.txt"), "discarded changes are not in the project");
  await pressed("Make one.", "touch one.txt", "Keep", "One is made.");
  await one.shows("One is made.", "the turn continues after the changes are kept");
  check(file("one.txt"), "kept changes are in the project");
  const again = "date +%N > same.txt";
  model.replies = [call("bash", { command: again }), call("bash", { command: again }), "Twice."];
  await one.ask("Do it twice.");
  await one.until(ASKED, "a question is open");
  await one.press("Always in this turn");
  await one.shows("Twice.", "the second one runs without a question");
  model.replies = [call("bash", { command: "touch two.txt" }), call("write_file", { path: "three.txt", content: "3\n" }), "All are made."];
  await one.ask("Make two more.");
  await one.until(ASKED, "a question is open");
  await one.press("All changes in this project");
  await one.shows("All are made.", "no other change of the turn asks");
  check(file("two.txt") && file("three.txt"), "both changes are kept");
  await one.click("#undo");
  await one.until(`[...document.querySelectorAll("#log .note ul")].at(-1)?.textContent.includes("three.txt")`, "undo lists both files");
  check(!file("two.txt") && !file("three.txt"), "undo also reverts the changes of a command");
  const removals = 70;
  await pressed("Make many.", `touch old-{1..${removals}}.txt`, "Keep", "Many are made.");
  await one.shows("Many are made.", "many files are kept");
  await pressed("Remove them.", `rm old-*.txt; seq 80 > many.txt`, "", "Then not.");
  check(await one.run(`document.querySelector(".question .diff").textContent.split("\\n").filter((line) => line.startsWith("removed: ")).length`) === removals,
    "removals are never folded");
  await one.press("Discard");
  await one.shows("Then not.", "the turn continues after the changes are discarded");
}

/** Tests an output that is too long for the model. */
async function outputs(one) {
  model.replies = [call("bash", { command: "seq 1 60000" }), "Many numbers."];
  await one.ask("Count.");
  await one.shows("Many numbers.", "a turn with a long output ends");
  await one.run(`[...document.querySelectorAll("#log details")].at(-1).open = true`);
  const note = model.seen.at(-1).at(-1).content.split("\n").find((line) => line.includes(".toolfence/output/"));
  check(await one.run(`[...document.querySelectorAll("#log details")].at(-1).querySelector(".cut").textContent`) === "truncated", "a truncated output has a badge");
  await one.shows(note, "the page shows the same note as the model gets");
  await one.fits("truncated");
  await one.press("Show all");
  await one.until(`[...document.querySelectorAll("#log details")].at(-1).querySelector(":scope > pre").textContent.includes("\\n30000\\n")`, "a button shows the omitted lines");
  await one.press("Show more");
  await one.until(`[...document.querySelectorAll("#log details")].at(-1).querySelector(":scope > pre").textContent.endsWith("\\n60000\\n")`, "a button shows the rest");
  check(await one.run(`[...document.querySelectorAll("#log details")].at(-1).querySelector(":scope > pre").textContent.split("\\n").length`) === 60001, "each line is shown once");
}

/** Tests the button and the key that stop a turn. */
async function stops(one) {
  for (const [what, stop] of [["the button", () => one.click("#stop")], ["Escape", () => one.key("Escape")]]) {
    const begins = `It begins, and ${what}`;
    const [reply, go] = halting(begins);
    model.replies = [reply];
    const gone = model.gone;
    await one.ask(`Continue until ${what}.`);
    await one.shows(begins, `a turn runs until ${what}`);
    check(await one.run(`document.getElementById("send").disabled && !document.getElementById("stop").disabled`), "only Stop can be pressed");
    if (what === "the button") await one.picture("running");
    await stop();
    await one.until(READY, `${what} stops the turn`);
    for (const late = Date.now() + PATIENCE; model.gone === gone && Date.now() < late; ) await wait(20);
    check(model.gone > gone, "the connection to the model is closed");
    check(await one.run(`document.getElementById("log").innerText.trim().endsWith("Stopped.")`), "the page says that the turn was stopped");
    check(await one.run(`[...document.querySelectorAll("#log article")].at(-1).className`) === "note", "the note is not an error");
    go();
    model.replies = [`It continues after ${what}.`];
    await one.ask("Continue.");
    await one.shows(`It continues after ${what}.`, "the conversation continues");
    check(model.seen.at(-1).some((message) => message.content.includes(begins)), "the model gets the beginning of its stopped reply");
  }
}

/** Tests that turns continue without the page: while another conversation is shown, and after a reload. */
async function continues(one) {
  let [reply, go] = halting("It begins here, and ");
  model.replies = [async (say) => {
    await reply(say);
    say("it ends here.");
  }];
  const gone = model.gone;
  await one.click("#fresh");
  await one.ask("Take your time.");
  await one.shows("It begins here, and", "a turn runs");
  const address = await one.run("location.href");
  await one.click("#fresh");
  await one.until(READY, "another conversation can start meanwhile");
  model.replies.push("Something else.");
  await one.ask("What else?");
  await one.shows("Something else.", "the other conversation is answered");
  await one.click("#past");
  await one.until(`document.querySelectorAll("#list button").length > 1`, "the conversations are listed");
  await one.run(`[...document.querySelectorAll("#list button")].find((one) => one.textContent.includes("Take your time.")).click()`);
  await one.shows("It begins here, and", "the first conversation shows its turn");
  check(await one.run(`document.getElementById("send").disabled && !document.getElementById("stop").disabled`), "the turn still runs");
  await one.reload();
  await one.shows("It begins here, and", "a reload shows the turn");
  check(await one.run("location.href") === address, "the conversation is the same");
  check(await one.run(`document.querySelectorAll("#log .user").length === 1 && document.querySelectorAll("#log .answer").length === 1`), "each text is shown once");
  check(model.gone === gone, "the connection to the model stays open");
  go();
  await one.until(`${READY} && document.getElementById("log").innerText.includes("It begins here, and it ends here.")`, "the page shows the end of the turn");
  // A question survives a reload, and its answer arrives.
  model.replies = [call("bash", { command: "touch continued.txt" }), "It is there."];
  await one.ask("Make it.");
  await one.until(ASKED, "a question is open");
  await one.reload();
  await one.until(`${ASKED} && document.querySelector(".question").textContent.includes("touch continued.txt")`, "the question is open after a reload");
  await one.run(`document.querySelector(".question .yes").click()`);
  await one.until(`${READY} && document.getElementById("log").innerText.includes("It is there.")`, "the answer to the question arrives");
  check(existsSync(join(project, "continued.txt")), "the change is kept");
  // The Stop button works in a page that attached to a running turn.
  [reply, go] = halting("This one is stopped.");
  model.replies = [reply];
  await one.ask("And stop.");
  await one.shows("This one is stopped.", "a turn runs");
  await one.reload();
  await one.shows("This one is stopped.", "the page attaches to it");
  await one.click("#stop");
  await one.until(`${READY} && document.getElementById("log").innerText.trim().endsWith("Stopped.")`, "Stop ends the turn");
  go();
}

/** Tests a connection that breaks in the middle of a turn, and a server that cannot be reached for a moment. */
async function breaks(english, server) {
  const sockets = new Set();
  let open = true;
  const between = connections((socket) => {
    const onwards = connect(new URL(server.address).port, "127.0.0.1");
    for (const one of [socket, onwards]) {
      sockets.add(one);
      one.on("error", () => {});
      one.on("close", () => [socket, onwards].forEach((each) => each.destroy()));
    }
    if (open) socket.pipe(onwards).pipe(socket);
    else socket.destroy();
  });
  await within(new Promise((listening) => between.listen(0, "127.0.0.1", listening)), "the relay listens");
  const one = await english.page(`http://127.0.0.1:${between.address().port}/#token=${TOKEN}`, false);
  const [reply, go] = halting("The first half, ");
  model.replies = [async (say) => {
    await reply(say);
    say("the second half.");
  }];
  await one.ask("Break.");
  await one.shows("The first half,", "a turn runs");
  open = false;
  sockets.forEach((socket) => socket.destroy());
  await one.until(`document.getElementById("status").textContent.includes("connection is lost")`, "the page notices a lost connection");
  go();
  open = true;
  await one.until(`${READY} && document.getElementById("log").innerText.includes("The first half, the second half.")`, "the page resumes the turn");
  check(await one.run(`document.querySelectorAll("#log .answer").length === 1`), "nothing is shown twice");
  await one.send("Page.close");
  sockets.forEach((socket) => socket.destroy());
  between.close();
}

/** Tests a reload of the page in the middle of a turn. */
async function reloads(one, server) {
  const [reply, go] = halting("This is half of");
  model.replies = ["First of all.", reply];
  await one.click("#fresh");
  await one.ask("Begin.");
  await one.shows("First of all.", "a conversation begins");
  const address = await one.run("location.href");
  check(/\/#session=[A-Za-z0-9_-]+$/.test(address), "the address names the conversation");
  await one.ask("More.");
  await one.shows("This is half of", "a turn runs");
  await one.run(`document.getElementById("prompt").value = "typed meanwhile"`);
  await one.reload();
  await one.until(`document.querySelectorAll("#log .user").length === 2 && document.getElementById("log").innerText.includes("This is half of")`,
    "the page is loaded again, with the conversation and its turn");
  check(await one.run("location.href") === address, "the conversation is the same");
  check(await one.run(`document.getElementById("prompt").value`) === "typed meanwhile", "the typed text is kept");
  go();
  await one.until(READY, "the turn ends");
  await one.run(`document.getElementById("prompt").value = ""`);
  model.replies = ["And now all of it."];
  await one.ask("Again.");
  await one.shows("And now all of it.", "the next turn follows");
  check(model.seen.at(-1).some((message) => message.content.includes("Begin.")), "the next turn has the earlier messages");
  // The page shows the conversation that was chosen last.
  await one.click("#past");
  await one.until(`document.querySelectorAll("#list button").length > 1`, "the conversations are listed");
  await one.fits("conversations");
  await one.run(`(() => { const all = [...document.querySelectorAll("#list button")]; const named = (text) => all.find((one) => one.textContent.includes(text));
    named("Read the file.").click(); named("Begin.").click(); })()`);
  await one.until(`${READY} && document.getElementById("log").innerText.includes("And now all of it.")`, "the last choice counts");
  await one.reload();
  await one.until(`${READY} && document.getElementById("log").innerText.includes("And now all of it.")`, "a reload keeps the choice");
  check(await one.run(`!document.getElementById("log").innerText.includes("All of it is read.")`), "the other conversation is not shown");
  await one.click("#past");
  await one.until(`document.querySelectorAll("#list button").length > 1`, "they are listed again");
  await one.run(`[...document.querySelectorAll("#list button")].find((one) => one.textContent.includes("Read the file.")).click()`);
  await one.until(`${READY} && document.getElementById("log").innerText.includes("All of it is read.")`, "an old one is shown");
  await one.run(`document.querySelectorAll("#log details").forEach((one) => (one.open = true))`);
  await one.shows(NAME, "the outputs of its tools are shown");
  await one.inert("a stored conversation");
}

/** Tests two tabs with the same conversation. */
async function tabs(one, english, server) {
  const address = await one.run("location.href");
  const other = await english.page(address, false);
  await other.until(`${READY} && document.querySelectorAll("#log .user").length > 0`, "a second tab needs no token and shows the conversation");
  const [reply, go] = halting("In the first tab");
  model.replies = [reply];
  await one.ask("Here.");
  await one.shows("In the first tab", "the first tab runs a turn");
  await other.ask("And here.");
  await other.until(`document.querySelector("#log .bad") && document.getElementById("prompt").value === "And here."`, "the second tab is refused and keeps its prompt");
  check(await one.run(`!document.getElementById("log").innerText.includes("And here.")`), "the first tab is not affected");
  await other.click("#fresh");
  model.replies = ["In the second tab."];
  await other.key("Enter");
  await other.shows("In the second tab.", "the second tab can run a new conversation at the same time");
  go();
  await one.until(READY, "the turn of the first tab ends");
  await other.inert("the second tab");
  await other.send("Page.close");
}

/** Tests that everything can be done with the keyboard. */
async function keyboard(one) {
  await one.click("#fresh");
  await one.write("a line");
  await one.key("Enter", 8);
  await one.write("another");
  check(await one.run(`document.getElementById("prompt").value`) === "a line\nanother", "Shift+Enter begins a new line");
  await one.run(`document.getElementById("prompt").value = ""`);
  const order = [];
  await one.run(`document.getElementById("undo").focus()`);
  for (let times = 0; times < 11; times += 1) {
    order.push(await one.focused());
    await one.key("Tab");
  }
  check(`${order}` === "undo,past,fresh,log,last,BUTTON,BUTTON,BUTTON,prompt,more,send", `Tab follows the order of the page: ${order}`);
  await one.run(`document.getElementById("past").focus()`);
  await one.key("Enter");
  await one.until(`document.getElementById("sessions").open`, "Enter opens the conversations");
  await one.key("Escape");
  await one.until(`!document.getElementById("sessions").open`, "Escape closes them");
  check(await one.focused() === "past", "the focus returns to the button");
  model.replies = [call("bash", { command: "rm -r nothing", network: true }), "Let it be."];
  await one.ask("Remove nothing.");
  await one.until(ASKED, "a question is open");
  const names = [];
  for (let times = 0; times < 8; times += 1) {
    await one.key("Tab");
    names.push(await one.run(`document.activeElement.textContent || document.activeElement.tagName`));
    if (names.at(-1) === "Deny") break;
  }
  check(names.at(-1) === "Deny" && names.includes("Run it"), `Tab reaches the buttons of the question: ${names}`);
  await one.key("Enter");
  await one.shows("Let it be.", "Enter presses the button");
  check(await one.focused() === "prompt", "the focus is back at the prompt");
}

/** Tests a server that restarts with another token and no longer accepts the cookie of the page. */
async function restarts(one, server) {
  await ended(server.child);
  const again = await served(new URL(server.address).host, "another-token-of-it");
  model.replies = ["I am back."];
  await one.ask("Are you there?");
  await one.until(`document.getElementById("entry").open`, "the page asks for the token");
  await one.fits("token");
  await one.write("wrong");
  await one.key("Enter");
  await one.until(`document.getElementById("entry-title").textContent === "The token is wrong."`, "the page reports a wrong token");
  await one.key("Escape");
  await one.until(`document.getElementById("entry").open`, "the page cannot be used without the token");
  await one.write("another-token-of-it");
  await one.key("Enter");
  await one.shows("I am back.", "the prompt was not lost");
  check(await one.run(`[...document.querySelectorAll("#log .user")].at(-1).textContent`) === "Are you there?", "the prompt is sent once");
  return again;
}

/** Tests the choice of a persona and of a tool. */
async function personas(one) {
  check(await one.run(`document.getElementById("persona").value`) === "coder", "the server's persona is chosen");
  model.replies = ["I review."];
  await one.run(`document.getElementById("persona").value = "reviewer"`);
  await one.ask("Look at it.");
  await one.shows("I review.", "another persona answers");
  check(!model.seen.at(-1)[0].content.includes("write_file"), "it has its own tools");
  // The user writes a persona while the server runs, and then changes its text.
  const own = join(home, "c", "toolfence", "personas");
  mkdirSync(own, { recursive: true });
  for (const instructions of ["You are a poet.", "You are a sober poet."]) {
    writeFileSync(join(own, "poet.md"), `+++\nname = "poet"\ndescription = "It rhymes."\n+++\n${instructions}\n`);
    await one.reload();
    await one.until(`${READY} && [...document.getElementById("persona").options].some((one) => one.value === "poet")`, "a new persona is offered");
    model.replies = ["In verse."];
    await one.run(`document.getElementById("persona").value = "poet"`);
    await one.ask("Write.");
    await one.until(`${READY} && [...document.querySelectorAll("#log .answer")].at(-1)?.textContent === "In verse."`, "it answers");
    check(model.seen.at(-1)[0].content.includes(instructions), "the model gets the current text of its file");
  }
  await one.run(`document.getElementById("persona").value = "coder"; document.getElementById("tool").value = "read_file"`);
  model.replies = ["With one tool."];
  await one.ask("With one.");
  await one.shows("With one tool.", "a turn with one tool is answered");
  check(!model.seen.at(-1)[0].content.includes("### bash"), "the model gets no other tool");
}

/** Tests the page in Portuguese and in the dark scheme, with a server that keeps no transcripts. */
async function portuguese() {
  writeFileSync(join(home, "c", "toolfence", "config.toml"), '[prices]\n"m" = { input = 100, output = 100 }\n');
  const { address, child } = await served("127.0.0.1:0", TOKEN, "--no-transcript", "--window", "200000");
  const brazilian = await browser("pt-BR");
  const one = await brazilian.page(`${address}/#token=${TOKEN}`, true);
  await one.until(READY, "the page works without stored conversations");
  check(await one.run(`document.getElementById("send").textContent`) === "Enviar", "the page is in Portuguese");
  check(await one.run("getComputedStyle(document.body).backgroundColor") === "rgb(21, 24, 29)", "the page is dark");
  await one.shows("não são gravadas", "the page says that conversations are not stored");
  model.replies = ["Uma resposta.", "Outra resposta."];
  await one.ask("Um pedido.");
  await one.shows("Uma resposta.", "an answer is displayed");
  await one.ask("Outro pedido.");
  await one.shows("Outra resposta.", "another answer is displayed");
  check(model.seen.at(-1).at(-1).content.includes("Um pedido. -> Uma resposta."), "the page sends the earlier messages, which the server does not keep");
  await one.until(`/ \\/ 200k \\(\\d+ %\\).*custo 0,\\d+$/.test(document.getElementById("facts").innerText.replaceAll("\\n", " "))`, "the header shows the window and the price");
  model.replies = [call("write_file", { path: "novo.txt", content: "um\ndois\n" }), "Pronto."];
  await one.ask("Escreva.");
  await one.until(ASKED, "a question is open");
  await one.picture("dark");
  await one.size(360, 640);
  await one.picture("dark-phone");
  await one.size(1000, 800);
  await one.until(`document.querySelector(".question.takes-keys")`, "it takes keys");
  await one.key("s");
  await one.shows("Pronto.", "the Portuguese key for yes runs the call");
  upstream.closeAllConnections();
  await new Promise((closed) => upstream.close(closed));
  await one.ask("Mais uma vez.");
  await one.until(`document.querySelector(".bad")`, "the page reports a model that cannot be reached");
  await one.fits("error");
  await one.inert("in Portuguese");
  await ended(child);
  await ended(brazilian.child);
}

/** Writes the picture for docs/images: a conversation with a folded call and a diff. */
async function picture() {
  writeFileSync(join(project, "stats.py"), 'def median(numbers):\n    """The number in the middle."""\n    ordered = sorted(numbers)\n' +
    "    return ordered[len(ordered) // 2]\n");
  spawnSync("git", ["init", "-q", "-b", "main", project]);
  const server = await served("127.0.0.1:0", TOKEN);
  const one = await (await browser("en-US")).page(`${server.address}/#token=${TOKEN}`, false);
  await one.size(1280, 890);
  const change = { path: "stats.py", old: "    return ordered[len(ordered) // 2]", new: "    middle = len(ordered) // 2\n    if len(ordered) % 2 == 0:\n" +
    "        return (ordered[middle - 1] + ordered[middle]) / 2\n    return ordered[middle]" };
  model.replies = ["It computes statistics."];
  await one.ask("What does this project do?");
  await one.shows("It computes", "it answers");
  await one.until(READY, "the turn is over");
  await one.click("#fresh");
  model.replies = [
    "I read the function first.\n```tool\n" + JSON.stringify({ name: "read_file", args: { path: "stats.py" } }) + "\n```\n",
    "`median` takes the **upper** of two middle numbers:\n\n| numbers | now | correct |\n|---|--:|--:|\n| 9, 1, 5 | 5 | 5 |\n| 10, 4, 1, 8 | 8 | 6 |\n\n" +
      "It should take their mean.\n```tool\n" + JSON.stringify({ name: "replace_text", args: change }) + "\n```\n",
  ];
  await one.ask("The median of an even count is wrong. Fix it.");
  await one.until(`document.querySelector(".question.takes-keys")`, "a question is open");
  await one.run(`document.getElementById("log").scrollTop = 1e6; 0`);
  const { data } = await one.send("Page.captureScreenshot");
  writeFileSync(output, Buffer.from(data, "base64"));
}

if (pictures) mkdirSync(pictures, { recursive: true });
try {
  await (isPicture ? picture() : scenes());
} finally {
  for (const child of running) child.kill();
  upstream.closeAllConnections();
  upstream.close();
  await wait(500);
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
