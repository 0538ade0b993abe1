// ==UserScript==
// @name         toolfence in a chat page
// @description  Runs the tool calls of a chat page's model in your project with `coder serve`, and puts the results into the composer.
// @version      0.1
// @match        https://chatgpt.com/*
// @match        https://claude.ai/*
// @grant        GM_xmlhttpRequest
// @grant        GM_getValue
// @grant        GM_setValue
// @connect      127.0.0.1
// ==/UserScript==
//
// 1. Start `coder serve` in your project. 2. Open a chat and press Connect: paste the address that `coder serve` prints for the page.
// 3. Press Instructions and send them, then ask for something. Add your site to SITES and to @match; sites change their pages often.
// Without GM_xmlhttpRequest, `coder serve --origin https://chat.example` lets the page of that origin use the server.

/** CSS selectors by host: answers, an element that exists only while an answer is being written, the composer, and its button. */
const SITES = {
  "chatgpt.com": { answer: "[data-message-author-role=assistant]", busy: "[data-testid=stop-button]", composer: "#prompt-textarea", send: "[data-testid=send-button]" },
  "claude.ai": { answer: ".font-claude-response", busy: "[aria-label='Stop response']", composer: "div[contenteditable=true]", send: "[aria-label='Send message']" },
  "127.0.0.1": { answer: ".answer", busy: ".writing", composer: "#composer", send: "#send" },
};

(() => {
  const site = SITES[location.hostname];
  if (!site) return;
  const make = (name, props, ...inside) => {
    const made = Object.assign(document.createElement(name), props);
    made.append(...inside);
    return made;
  };
  // Scripts of the page cannot press these buttons, because their events are not trusted.
  const button = (text, act) => {
    const made = make("button", { textContent: text });
    made.addEventListener("click", (event) => event.isTrusted && Promise.resolve(act()).catch((error) => show(error.message)));
    return made;
  };
  const status = make("div", { id: "status" }), question = make("div", { id: "question" });
  const sends = make("input", { type: "checkbox", id: "sends" });
  const panel = make("div", { id: "toolfence-panel" });
  const style = ":host{position:fixed;right:8px;bottom:8px;z-index:99999;width:28em;padding:8px;background:#fff;color:#111;border:1px solid #888;" +
    "font:13px sans-serif}pre{max-height:20em;overflow:auto;white-space:pre-wrap;background:#eee;color:#111}";
  const show = (text) => (status.textContent = text);
  panel.attachShadow({ mode: "open" }).append(make("style", { textContent: style }), status, question,
    button("Connect", connect), button("Instructions", async () => insert((await api("GET", "/api/sessions/new/instructions")).data.text, false)),
    button("Read last answer", () => read(true)), button("Undo", async () => show((await api("POST", "/api/undo", {})).message)),
    button("New conversation", () => sessionStorage.removeItem("toolfence")), make("label", {}, sends, "send results"));
  document.documentElement.append(panel);

  // Without a userscript manager, the page can read the stored values too.
  function store(key, value) {
    typeof GM_setValue === "function" ? GM_setValue(key, value) : sessionStorage.setItem(`toolfence-${key}`, value);
  }

  function stored(key, usual) {
    return typeof GM_getValue === "function" ? GM_getValue(key, usual) : sessionStorage.getItem(`toolfence-${key}`) ?? usual;
  }

  function connect() {
    const url = new URL(prompt("The address of the page that coder serve prints, with its token:"));
    store("server", url.origin);
    store("token", new URLSearchParams(url.hash.slice(1)).get("token"));
    show("Connected.");
  }

  async function api(method, path, body) {
    const request = { method, url: stored("server", "http://127.0.0.1:8765") + path, data: body && JSON.stringify(body),
      headers: { Authorization: `Bearer ${stored("token", "")}`, ...(body && { "Content-Type": "application/json" }) } };
    const answer = typeof GM_xmlhttpRequest === "function"
      ? await new Promise((onload, onerror) => GM_xmlhttpRequest({ ...request, onload, onerror: () => onerror(new Error("coder serve does not answer.")) }))
      : await fetch(request.url, { method, headers: request.headers, body: request.data }).then(async (got) => ({ status: got.status, responseText: await got.text() }));
    if (path.endsWith("/events")) return answer.responseText;
    const read = JSON.parse(answer.responseText);
    if (!read.data) throw Object.assign(new Error(read.message), { status: answer.status });
    return read;
  }

  /** Returns an answer as Markdown, with the elements of code blocks turned back into fences. */
  function markdown(one) {
    if (one.nodeType === Node.TEXT_NODE) return one.data;
    if (one.tagName === "BR") return "\n";
    if (one.tagName === "PRE") {
      const code = one.querySelector("code") ?? one, text = code.textContent.replace(/\n?$/, "\n");
      const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
      return `\n${fence}${/language-(\S+)/.exec(code.className)?.[1] ?? ""}\n${text}${fence}\n`;
    }
    const inside = [...one.childNodes].map(markdown).join("");
    return one.tagName === "CODE" ? "`" + inside + "`" : /^(P|DIV|LI|H\d|TR|BLOCKQUOTE)$/.test(one.tagName) ? `\n${inside}\n` : inside;
  }

  /** Puts a text into the composer, and sends it if the user wants that. */
  function insert(text, send) {
    const composer = document.querySelector(site.composer);
    composer.focus();
    if (composer.isContentEditable) document.execCommand("insertText", false, text);
    else {
      Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(composer, text);
      composer.dispatchEvent(new Event("input", { bubbles: true }));
    }
    if (send) setTimeout(() => document.querySelector(site.send)?.click(), 300);
  }

  /** Asks about a call. Resolves to the decision. */
  function decide(pending) {
    return new Promise((decided) => {
      const done = (decision) => () => (question.replaceChildren(), decided(decision));
      const always = pending.always.length ? [button(`Always: ${pending.always.join("; ")}`, done({ decision: "approve", always: true }))] : [];
      question.replaceChildren(make("p", { textContent: pending.why }), make("pre", { textContent: pending.diff ?? JSON.stringify(pending.args, null, 1) }),
        button("Yes", done({ decision: "approve" })), button("No", done({ decision: "deny" })), ...always);
    });
  }

  /** Whether an answer was being written. One that only appears, as in an older chat, is not read automatically. */
  let written = false, reading = false;

  /** Handles the last answer when it is finished. */
  async function read(again) {
    const answer = [...document.querySelectorAll(site.answer)].at(-1);
    if (!answer || reading || document.querySelector(site.busy) || !(again || written)) return;
    written = false;
    reading = true;
    try {
      show("Reading the answer ...");
      let got = await api("POST", `/api/sessions/${sessionStorage.getItem("toolfence") ?? "new"}/replies`, { text: markdown(answer) });
      const session = got.data.session;
      sessionStorage.setItem("toolfence", session);
      while (got.data.pending) {
        show("A call waits for your answer.");
        const decision = await decide(got.data.pending);
        got = await api("POST", `/api/approvals/${got.data.pending.approval}`, decision).catch(async (error) => {
          if (error.status !== 404) throw error;
          // The question was answered by another client, or too late. The events have the end of the reply.
          const lines = (await api("GET", `/api/sessions/${session}/events`)).split("\n").filter((line) => /^data: .*"event":"(results|stop)"/.test(line));
          return { message: error.message, data: { session, results: JSON.parse(lines.at(-1).slice(6)).text } };
        });
      }
      show(got.message);
      if (got.data.results) insert(got.data.results, sends.checked);
    } catch (error) {
      show(error.message);
    } finally {
      reading = false;
    }
  }

  let timer;
  new MutationObserver(() => {
    written ||= document.querySelector(site.busy) !== null;
    clearTimeout(timer);
    timer = setTimeout(() => read(false), 500);
  }).observe(document.body, { childList: true, subtree: true, characterData: true, attributes: true });
})();
