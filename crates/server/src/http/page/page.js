// The page of `coder serve`. What a model, a tool or a file says becomes the text of nodes and nothing else: no string is read as HTML.

const WORDS = {
  en: {
    log: "Conversation", prompt: "What shall be done?", tool: "Tool", send: "Send", stop: "Stop", past: "Conversations", undo: "Undo", fresh: "New",
    entry: "This server wants its token", token: "The token that coder serve printed", enter: "Enter", close: "Close",
    yes: "Run it", always: "Always in this turn", no: "Deny", why: "Why not? (for the model)", cut: "truncated", thought: "Thought",
    running: "running", done: "done", failed: "failed", denied: "The token is wrong.", gone: "The server cannot be reached.",
    stopped: "Stopped.", asks: "May this run?", none: "There is no conversation yet.", arguments: "Arguments", result: "Result",
    ends: { empty: "The reply was empty.", unfinished: "The answer broke off.", format_errors: "No call could be read.",
      round_limit: "The rounds are used up.", loop: "The model repeats itself.", cancelled: "Cancelled.", failed: "The turn failed." },
  },
  pt: {
    log: "Conversa", prompt: "O que deve ser feito?", tool: "Ferramenta", send: "Enviar", stop: "Parar", past: "Conversas", undo: "Desfazer", fresh: "Nova",
    entry: "Este servidor exige o seu token", token: "O token que coder serve imprimiu", enter: "Entrar", close: "Fechar",
    yes: "Executar", always: "Sempre neste turno", no: "Negar", why: "Por que não? (para o modelo)", cut: "truncado", thought: "Pensamento",
    running: "em execução", done: "concluída", failed: "falhou", denied: "O token está errado.", gone: "Não é possível alcançar o servidor.",
    stopped: "Parado.", asks: "Isto pode ser executado?", none: "Ainda não há conversas.", arguments: "Argumentos", result: "Resultado",
    ends: { empty: "A resposta veio vazia.", unfinished: "A resposta foi interrompida.", format_errors: "Nenhuma chamada pôde ser lida.",
      round_limit: "As rodadas se esgotaram.", loop: "O modelo se repete.", cancelled: "Cancelado.", failed: "O turno falhou." },
  },
};
const language = (navigator.language || "en").startsWith("pt") ? "pt" : "en";
const words = WORDS[language];
const at = (id) => document.getElementById(id);
const log = at("log");

/** The conversation that the next prompt goes on with, by its name. */
let session = "new";
let turn = null;

function node(name, kind, ...inside) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.append(...inside);
  return made;
}

function button(text, kind, act) {
  const made = node("button", kind, text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

function add(made) {
  const below = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  log.append(made);
  if (below) log.scrollTop = log.scrollHeight;
  return made;
}

function say(text, kind = "note") {
  return add(node("article", kind, text));
}

/** Paragraphs, blocks of code, code in a line and strong words of Markdown, as nodes. Links stay text. */
function rendered(text) {
  const made = node("article", "answer");
  const lines = text.split("\n");
  for (let line = 0; line < lines.length; ) {
    const fence = /^ {0,3}(`{3,}|~{3,})/.exec(lines[line]);
    const block = [];
    if (fence) {
      for (line += 1; line < lines.length && !lines[line].trim().startsWith(fence[1]); line += 1) block.push(lines[line]);
      line += 1;
      made.append(node("pre", "", node("code", "", block.join("\n"))));
      continue;
    }
    for (; line < lines.length && lines[line].trim() && !/^ {0,3}(`{3,}|~{3,})/.test(lines[line]); line += 1) block.push(lines[line]);
    if (block.length) {
      const paragraph = node("p", "coming");
      for (const part of block.join("\n").split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/)) {
        if (part.startsWith("`") && part.length > 2) paragraph.append(node("code", "", part.slice(1, -1)));
        else if (part.startsWith("**") && part.length > 4) paragraph.append(node("strong", "", part.slice(2, -2)));
        else paragraph.append(part);
      }
      made.append(paragraph);
    } else line += 1;
  }
  return made;
}

async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** The data of an answer; asks for the token where there is no cookie. */
async function get(path) {
  const response = await fetch(path);
  if (response.status === 401) {
    await enter();
    return get(path);
  }
  return (await response.json()).data;
}

async function login(token) {
  return (await post("/api/login", { token })).ok;
}

function enter() {
  return new Promise((entered) => {
    const dialog = at("entry");
    dialog.oncancel = (event) => event.preventDefault();
    dialog.onclose = async () => {
      const right = await login(at("token").value);
      at("token").value = "";
      if (right) return entered();
      at("entry-title").textContent = words.denied;
      dialog.showModal();
    };
    dialog.showModal();
  });
}

async function* events(response) {
  let text = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece; !(piece = await reader.read()).done; ) {
    text += piece.value;
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const data = text.slice(0, end).split("\n").find((line) => line.startsWith("data: "));
      text = text.slice(end + 2);
      if (data) yield JSON.parse(data.slice(6));
    }
  }
}

/** A text with what cannot be seen, or turns its direction, written out: what is agreed to has to be what is read. */
function plain(text) {
  const odd = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
  return text.replace(odd, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

function fields(args) {
  const entries = Object.entries(args ?? {});
  return entries.map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
    return node("div", "", node("div", "note", plain(name)), node("pre", "", plain(text)));
  });
}

function label(call) {
  const first = Object.values(call.args ?? {}).find((value) => typeof value === "string") ?? "";
  return plain(`${call.tool} ${first.split("\n")[0].slice(0, 100)}`);
}

/** A call, folded; its result comes later. */
function opened(call) {
  const state = node("span", "badge", words.running);
  const made = node("details", "", node("summary", "", label(call), state), node("h2", "", words.arguments), ...fields(call.args));
  made.state = state;
  return add(made);
}

function closed(made, result) {
  made.state.textContent = result.success ? words.done : words.failed;
  made.state.classList.add(result.success ? "good" : "bad");
  if (result.truncated) made.querySelector("summary").append(node("span", "badge", words.cut));
  made.append(node("h2", "", words.result));
  if (result.error) made.append(node("p", "bad", result.error.message));
  if (result.data?.diff) made.append(node("pre", "", result.data.diff));
  if (result.output) made.append(node("pre", "", result.output));
}

/** A question, whose answer goes to the server. It gets the focus, and no button of it does: whoever types meanwhile must not agree. */
function question(ask) {
  const why = node("input");
  why.id = `why-${ask.approval}`;
  const reason = node("label", "", words.why);
  reason.htmlFor = why.id;
  const made = node("div", "question", node("h2", "", plain(`${words.asks} ${ask.tool}`)), node("p", "", plain(ask.why)), ...fields(ask.args));
  made.tabIndex = -1;
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", `${words.asks} ${ask.tool}`);
  if (ask.always.length) made.append(node("p", "note", plain(`${words.always}: ${ask.always.join("; ")}`)));
  const answer = async (body) => {
    const controls = [...made.querySelectorAll("button, input")];
    controls.forEach((control) => (control.disabled = true));
    try {
      const response = await post(`/api/approvals/${ask.approval}`, body);
      if (!response.ok) say((await response.json()).message, "bad");
      made.remove();
      at("prompt").focus();
    } catch {
      // The answer did not arrive, so the question stays.
      say(words.gone, "bad");
      controls.forEach((control) => (control.disabled = false));
    }
  };
  const yes = button(words.yes, "yes", () => answer({ decision: "approve" }));
  const choices = node("div", "row", yes);
  if (ask.always.length) choices.append(button(words.always, "", () => answer({ decision: "approve", always: true })));
  choices.append(button(words.no, "", () => answer(why.value ? { decision: "deny", reason: why.value } : { decision: "deny" })));
  made.append(reason, why, choices);
  add(made);
  made.scrollIntoView({ block: "nearest" });
  made.focus();
}

async function send(prompt) {
  turn = new AbortController();
  at("send").disabled = true;
  at("stop").disabled = false;
  say(prompt, "user");
  let coming = null;
  const calls = new Map();
  const settle = () => {
    coming?.node.replaceWith(rendered(coming.text));
    coming = null;
  };
  try {
    const body = { prompt, toolType: at("tool").value, stream: true };
    const response = await post(`/api/sessions/${session}/turns`, body, turn.signal);
    if (!response.ok) {
      say((await response.json()).message, "bad");
      return;
    }
    session = response.headers.get("X-Session") ?? session;
    for await (const event of events(response)) {
      if (event.event === "text") {
        if (!coming) {
          coming = { text: "", node: say("", "coming") };
        }
        coming.text += event.text;
        coming.node.append(event.text);
        continue;
      }
      if (event.event === "reasoning" && event.text) {
        settle();
        let last = log.lastElementChild;
        if (!last?.classList.contains("thought")) {
          last = node("details", "thought", node("summary", "", words.thought), node("div"));
          add(last);
        }
        last.lastElementChild.append(event.text);
        continue;
      }
      if (event.event === "started" || event.event === "progress" || event.event === "note") continue;
      settle();
      if (event.event === "ask") question(event);
      else if (event.event === "running") calls.set(event.id, opened(event));
      else if (event.event === "result") {
        closed(calls.get(event.id) ?? opened({ ...event, args: {} }), event);
        calls.delete(event.id);
      } else if (event.event === "error") say(event.message, "bad");
      else if (event.event === "stop" && event.reason !== "answered") say(words.ends[event.reason] ?? event.reason, "bad");
    }
  } catch (error) {
    say(error.name === "AbortError" ? words.stopped : words.gone, "bad");
  } finally {
    settle();
    for (const open of calls.values()) open.state.textContent = words.failed;
    document.querySelectorAll(".question").forEach((open) => open.remove());
    turn = null;
    at("send").disabled = false;
    at("stop").disabled = true;
    at("prompt").focus();
  }
}

/** A conversation that was written down: the next prompt goes on with it. */
async function show(id) {
  turn?.abort();
  session = id;
  const { messages } = await get(`/api/sessions/${id}/messages?limit=500`);
  log.replaceChildren();
  for (const record of messages) {
    if (record.role === "user") say(record.content, "user");
    else if (record.role === "assistant" && record.content) add(rendered(record.content));
    else if (record.role === "tool" && record.tool_result) {
      closed(opened({ tool: record.tool_result.tool_name, args: record.tool_call?.args }), record.tool_result);
    }
  }
}

/** Takes back what the last turn changed, and says which files that were. */
async function undo() {
  const answer = await (await post("/api/undo", {})).json();
  say(answer.message, answer.success ? "note" : "bad");
  const names = (answer.data?.undone?.done ?? []).map((one) => node("li", "", `${one.name}: ${one.what}`));
  const left = (answer.data?.undone?.refused ?? []).map((one) => node("li", "bad", `${one.name}: ${one.why}`));
  if (names.length || left.length) add(node("ul", "note", ...names, ...left));
}

async function past() {
  const { sessions } = await get("/api/sessions");
  const rows = sessions.map((one) => {
    const choose = button(`${one.changed.slice(0, 16).replace("T", " ")}  ${one.title}`, "", () => {
      at("sessions").close();
      show(one.id);
    });
    return node("li", "", choose);
  });
  at("list").replaceChildren(...(rows.length ? rows : [node("li", "note", words.none)]));
  at("sessions").showModal();
}

async function begin() {
  document.documentElement.lang = language;
  document.querySelectorAll("[data-text]").forEach((one) => (one.textContent = words[one.dataset.text]));
  log.setAttribute("aria-label", words.log);
  at("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    const prompt = at("prompt").value;
    if (turn || !prompt.trim()) return;
    at("prompt").value = "";
    send(prompt);
  });
  at("prompt").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      at("ask").requestSubmit();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && turn && !document.querySelector("dialog[open]")) turn.abort();
  });
  at("stop").addEventListener("click", () => turn?.abort());
  at("past").addEventListener("click", past);
  at("undo").addEventListener("click", undo);
  at("fresh").addEventListener("click", () => {
    turn?.abort();
    session = "new";
    log.replaceChildren();
    at("prompt").focus();
  });
  // The token comes behind the #, which no server and no log is told, and does not stay in the history of the browser.
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", "/");
    await login(token);
  }
  const { tools } = await get("/api/tools");
  at("tool").append(...tools.map((tool) => node("option", "", tool.name)));
  at("prompt").focus();
}

begin();
