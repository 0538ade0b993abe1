// The page of `coder serve`: prompts, answers while they come, calls with their results, questions, and conversations.

import { Coming, rendered } from "/markdown.js";
import { at, button, change, node, plain, pre } from "/nodes.js";
import { Turn, ask, get, login, why } from "/server.js";
import { language, words } from "/words.js";

/** Records of a conversation that are shown at a time. */
const STRETCH = 200;
/** What a server is told of earlier turns where none are written down. */
const MOST_CONTEXT = 20;

const log = at("log");

/** The conversation that is shown. What comes late for another one goes to that one's place, which nobody sees any more. */
let view = null;
/** Whether the end of the conversation was in sight when somebody, or the page, scrolled last. */
let below = true;
/** Whether conversations are written down. */
let recorded = true;
/** Whether the page knows what it needs for a turn. */
let ready = false;

class View {
  constructor(id, title) {
    /** The conversation that the next prompt goes on with, by its name. */
    this.id = id;
    this.title = title;
    this.place = node("div");
    this.turn = null;
    this.questions = 0;
    this.status = "";
    this.context = [];
  }

  /** Changes what is shown. Where nobody has scrolled up to read, the end stays in sight. */
  keeping(change) {
    const was = isAtEnd();
    change();
    if (was) this.follow();
  }

  add(made) {
    this.keeping(() => this.place.append(made));
    return made;
  }

  follow() {
    if (view !== this) return;
    log.scrollTop = log.scrollHeight;
    below = true;
  }

  /** What went wrong is seen, wherever somebody reads. */
  say(text, kind = "note") {
    const made = this.add(node("article", kind, text));
    if (kind === "bad") this.reveal(made);
    return made;
  }

  /** Brings something into sight; of what is higher than the window its beginning. */
  reveal(made) {
    if (view !== this) return;
    const fits = made.offsetHeight <= log.clientHeight;
    made.scrollIntoView({ block: fits ? "nearest" : "start" });
    // The window may change before the event of this scrolling comes.
    below = isAtEnd();
  }

  tell(status) {
    this.status = status;
    if (view === this) controls();
  }
}

/** Shows a conversation. A turn of the one before continues at the server if it is recorded. */
function open(next) {
  const before = view;
  view = next;
  before?.turn?.leave();
  log.replaceChildren(next.place);
  log.scrollTop = log.scrollHeight;
  name();
  controls();
}

/** The name of the conversation stays in the address, so that it is there again when the page is loaded again. */
function name() {
  history.replaceState(null, "", view.id === "new" ? "/" : `/#session=${view.id}`);
}

/** Whether this conversation may be left: a turn that is not recorded would end. */
function leaves() {
  return !view.turn || recorded || confirm(words.ends_turn);
}

function controls() {
  at("send").disabled = !ready || Boolean(view.turn) || view.loading === true;
  at("stop").disabled = !view.turn;
  if (at("status").textContent !== view.status) at("status").textContent = view.status;
  document.title = `${view.questions ? "? " : ""}${view.title ? `${view.title} - ` : ""}coder`;
}

// Calls and questions -------------------------------------------------------------------------------------------------------------

function fields(args) {
  return Object.entries(args ?? {}).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
    return node("div", "", node("div", "note", plain(name)), pre(text, plain(name)));
  });
}

function label(tool, args) {
  const first = Object.values(args ?? {}).find((value) => typeof value === "string") ?? "";
  return plain(`${tool} ${first.split("\n")[0].slice(0, 100)}`);
}

/** A call, folded; its result comes later. */
function opened(place, tool, args) {
  const state = node("span", "badge", words.running);
  const made = node("details", "", node("summary", "", node("span", "name", label(tool, args)), state));
  const given = fields(args);
  if (given.length) made.append(node("p", "head", words.arguments), ...given);
  made.state = state;
  return place.add(made);
}

/** Lines of an output that say that it is not all of it, as the model was told. */
function cut(output) {
  const told = (line) => /^\[(TRUNCATED|TRUNCADO|\.\.\. \d)/.test(line) || line.includes(".toolfence/output/");
  return output.split("\n").filter(told).slice(-3);
}

function closed(made, result) {
  const summary = made.querySelector("summary");
  made.state.textContent = result.success ? words.done : words.failed;
  made.state.classList.add(result.success ? "good" : "bad");
  if (result.execution_time_ms >= 100) {
    const seconds = (result.execution_time_ms / 1000).toLocaleString(language, { maximumFractionDigits: 1 });
    summary.append(node("span", "badge", `${seconds} s`));
  }
  const changed = result.data?.diff;
  if (changed) {
    const count = (sign) => changed.split("\n").filter((line) => line.startsWith(sign) && !line.startsWith(sign.repeat(3))).length;
    summary.append(node("span", "badge", `+${count("+")} -${count("-")}`));
  }
  made.append(node("p", "head", words.result));
  if (result.error) made.append(node("p", "bad", plain(result.error.message)));
  if (changed) made.append(...change(changed, words.change, words.lines));
  const output = result.output ? pre(result.output, words.result) : null;
  if (output) made.append(output);
  if (result.truncated) {
    summary.append(node("span", "badge cut", words.cut));
    const told = cut(result.output ?? "");
    if (told.length) made.append(node("p", "note", plain(told.join("\n"))));
    const id = result.data?.output_id;
    if (id && output) made.append(whole(id, output));
  }
}

/** A button that shows all of an output in place of what the model read, piece by piece. */
function whole(id, output) {
  let from = 0;
  const more = button(words.all, "", async () => {
    more.disabled = true;
    try {
      const piece = await get(`/api/outputs/${encodeURIComponent(id)}?offset=${from}`);
      if (from === 0) output.replaceChildren();
      output.append(plain(piece.text));
      from = piece.next;
      more.textContent = words.further;
      if (from === null) more.remove();
      output.focus();
    } catch (error) {
      more.replaceWith(node("p", "bad", why(error)));
    }
    more.disabled = false;
  });
  return more;
}

/** A question, whose answer goes to the server. It gets the focus, and no button of it does: whoever types meanwhile must not agree. */
function question(place, asked) {
  const hasRun = asked.about !== "call";
  const texts = words.choices[asked.about];
  const reason = node("input");
  reason.id = `why-${asked.approval}`;
  const named = node("label", "", words.why);
  named.htmlFor = reason.id;
  // About a command that has run, the reason is the question: "`cargo fmt` changed 3 files. Keep the changes?"
  const title = plain(hasRun ? asked.why : `${words.asks} ${asked.tool}`);
  const made = node("div", "question", node("h2", "", title), hasRun ? [] : node("p", "", plain(asked.why)));
  made.tabIndex = -1;
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", title);
  const files = (asked.targets ?? []).map((target) => target.link ? `${target.name} (${target.link})` : target.name);
  if (files.length && !hasRun) made.append(node("p", "note", plain(`${words.files}: ${files.join(", ")}`)));
  if (asked.diff) {
    const rest = node("details", "", node("summary", "", words.arguments), fields(asked.args));
    made.append(...change(asked.diff, words.change, words.lines), rest);
  } else made.append(...fields(asked.args));
  if (asked.always.length) made.append(node("p", "note", plain(`${words.always}: ${asked.always.join("; ")}`)));
  if (asked.project) made.append(node("p", "note", `${words.project}: ${words.project_means}`));
  const answer = async (body) => {
    const inside = [...made.querySelectorAll("button, input")];
    inside.forEach((control) => (control.disabled = true));
    try {
      const response = await ask(`/api/approvals/${asked.approval}`, body);
      const said = body.decision === "approve" ? texts.allowed : `${texts.refused} ${body.reason ?? ""}`;
      if (response.ok) place.say(said);
      else place.say((await response.json()).message, "bad");
      made.remove();
      at("prompt").focus();
    } catch (error) {
      // The answer did not arrive, so the question stays.
      place.say(why(error), "bad");
      inside.forEach((control) => (control.disabled = false));
    }
  };
  const deny = () => answer(reason.value ? { decision: "deny", reason: reason.value } : { decision: "deny" });
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      deny();
    }
  });
  const choices = node("div", "row", button(texts.yes, "yes", () => answer({ decision: "approve" })));
  if (asked.always.length) choices.append(button(words.always, "", () => answer({ decision: "approve", always: true })));
  if (asked.project) choices.append(button(words.project, "", () => answer({ decision: "approve", always: "project" })));
  choices.append(button(texts.no, "no", deny));
  made.append(named, reason, choices);
  place.add(made);
  if (view === place) made.focus({ preventScroll: true });
  place.reveal(made);
  return made;
}

// A turn --------------------------------------------------------------------------------------------------------------------------

/** The events that put something below what was said. */
const SHOWN = ["ask", "running", "result", "error", "gap", "stop"];

/** What the events of a turn come to on the page. */
class Telling {
  constructor(place) {
    this.place = place;
    this.coming = null;
    this.thought = null;
    /** The nodes of what was said since the last call. */
    this.said = [];
    this.calls = new Map();
    /** The arguments of calls by their ids, for those that never run. */
    this.args = new Map();
    this.answer = "";
    /** Where the last piece of the reply ended. */
    this.reached = 0;
    this.ended = false;
    /** Events were lost. */
    this.gap = false;
  }

  /** The first piece of another reply: nothing of what was said before goes on. */
  begins({ span, unopened }) {
    // What was thought on a channel of its own has no place in the reply.
    const [start, end] = span ?? [0, 0];
    if (unopened || start === end) return;
    if (start < this.reached) {
      this.settle();
      this.thought = null;
      this.said = [];
      this.answer = "";
    }
    this.reached = end;
  }

  text(text) {
    this.thought = null;
    this.answer += text;
    if (!this.coming) {
      this.coming = new Coming((draw) => this.place.keeping(draw));
      this.said.push(this.place.add(this.coming.node));
    }
    this.coming.push(text);
  }

  settle() {
    this.coming?.finish();
    this.coming = null;
  }

  /** All that was said in this reply was thought: its end came, and its beginning never did. */
  unopened() {
    this.settle();
    const said = this.said.filter((one) => one.parentNode);
    if (said.length) {
      const fold = node("details", "thought", node("summary", "", words.thought), node("div"));
      this.place.keeping(() => {
        said[0].before(fold);
        fold.lastElementChild.append(...said);
      });
    }
    this.said = [];
    this.thought = null;
    this.answer = "";
  }

  event(event) {
    const { place } = this;
    if (event.event === "text" || event.event === "reasoning") this.begins(event);
    if (event.event === "text") {
      place.tell(words.writing);
      return this.text(event.text);
    }
    if (event.event === "call" || event.event === "ask") this.args.set(event.id, event.args);
    if (event.event === "progress") return;
    // A reply that another client has brought, and whose results that client gets.
    if (event.event === "results") this.ended = true;
    if (event.event === "lost") return place.tell(words.lost);
    if (event.event === "note") return place.tell(plain(`${words.works} ${event.text}`.slice(0, 120)));
    if (event.event === "started") return place.tell(plain(`${words.writing} ${event.name}`));
    if (event.event === "reasoning") {
      if (event.unopened) this.unopened();
      if (!event.text) return;
      this.settle();
      this.thought ??= place.add(node("details", "thought", node("summary", "", words.thought), node("div")));
      this.thought.lastElementChild.append(event.text);
      return place.tell(words.writing);
    }
    // The others show nothing, and what is said around them is one text.
    if (!SHOWN.includes(event.event)) return;
    this.settle();
    this.thought = null;
    if (event.event === "ask") {
      place.questions += 1;
      place.tell(words.waiting);
      question(place, event);
    } else if (event.event === "running") {
      this.answered();
      this.said = [];
      place.tell(plain(`${words.works} ${event.tool}`));
      this.calls.set(event.id, opened(place, event.tool, event.args));
    } else if (event.event === "result") {
      this.answered();
      closed(this.calls.get(event.id) ?? opened(place, event.tool, this.args.get(event.id)), event);
      this.calls.delete(event.id);
      this.args.delete(event.id);
      this.said = [];
      this.answer = "";
      place.tell(words.thinking);
    } else if (event.event === "error") {
      if (!place.turn?.stopped) place.say(event.message, "bad");
    } else if (event.event === "gap") {
      this.gap = true;
      place.say(words.gap);
    } else if (event.event === "stop") {
      this.ended = true;
      if (place.turn?.stopped) place.say(words.stopped, "bad");
      else if (event.reason !== "answered") place.say(words.ends[event.reason] ?? event.reason, "bad");
      const { tokens, window } = event.window ?? {};
      if (window) place.say(`${words.window} ${Math.floor((100 * tokens) / window)} %`);
    }
  }

  /** Whatever was asked has its answer, here or elsewhere. */
  answered() {
    this.place.questions = 0;
    this.place.place.querySelectorAll(".question").forEach((one) => one.remove());
  }

  end() {
    this.settle();
    this.answered();
    for (const one of this.calls.values()) one.state.textContent = words.failed;
  }
}

/** Runs a turn in a conversation. A prompt that did not come so far goes back where it was typed. */
async function send(mine, prompt) {
  const turn = (mine.turn = new Turn(recorded ? mine.id : null));
  mine.title ||= prompt.trim().split("\n")[0].slice(0, 60);
  mine.tell(words.thinking);
  const asked = mine.say(prompt, "user");
  mine.follow();
  const telling = new Telling(mine);
  let begun = false;
  try {
    const body = { prompt, toolType: at("tool").value, stream: true };
    if (at("persona").value) body.persona = at("persona").value;
    if (!recorded) body.contextHistory = mine.context.slice(-MOST_CONTEXT);
    const path = recorded ? `/api/sessions/${mine.id}/turns` : "/api/agent";
    await turn.begin(path, body);
    begun = true;
    mine.id = turn.session ?? mine.id;
    if (view === mine) name();
    for await (const event of turn.events()) telling.event(event);
    if (!telling.ended) mine.say(words.ends.unfinished, "bad");
    mine.context.push({ timestamp: new Date().toISOString(), prompt, result: telling.answer });
  } catch (error) {
    mine.say(error.name === "AbortError" ? words.stopped : why(error), "bad");
    if (!begun) {
      asked.remove();
      mine.say(words.kept);
      // What was typed meanwhile stays too.
      const typed = at("prompt").value;
      at("prompt").value = typed.trim() ? `${prompt}\n\n${typed}` : prompt;
      fit();
    }
  } finally {
    over(mine, telling);
    if (view === mine && !document.querySelector("dialog[open]")) at("prompt").focus();
  }
}

/** Shows the turn of a conversation that runs at the server, from its beginning. */
async function attach(mine) {
  const turn = (mine.turn = new Turn(mine.id));
  const telling = new Telling(mine);
  mine.tell(words.thinking);
  try {
    for await (const event of turn.events()) telling.event(event);
    if (!telling.ended) mine.say(words.ends.unfinished, "bad");
  } catch (error) {
    if (error.name !== "AbortError") mine.say(why(error), "bad");
  }
  over(mine, telling);
}

function over(mine, telling) {
  telling.end();
  mine.turn = null;
  mine.tell("");
  // The records have what the events lost.
  if (telling.gap && telling.ended && view === mine) show(mine.id, mine.title);
}

// Conversations -------------------------------------------------------------------------------------------------------------------

/** The records of a conversation that was written down. */
async function recordsOf(place, records) {
  const shown = new View(place.id, "");
  const answers = new Map();
  await Promise.all(records.map(async (record) => {
    if (record.role === "assistant" && record.content) answers.set(record, await rendered(record.content));
  }));
  for (const record of records) {
    if (record.thoughts) shown.add(node("details", "thought", node("summary", "", words.thought), node("div", "", record.thoughts)));
    if (record.role === "user") shown.say(record.content, "user");
    else if (answers.has(record)) shown.add(node("article", "answer", answers.get(record)));
    else if (record.role === "tool" && record.tool_result) {
      closed(opened(shown, record.tool_result.tool_name, record.tool_call?.args), record.tool_result);
    } else if (record.role === "note" && record.content) shown.say(record.content);
  }
  return [...shown.place.childNodes];
}

/** A conversation that was written down, the newest records of it: the next prompt goes on with it. */
async function show(id, title) {
  const mine = new View(id, title);
  mine.loading = true;
  mine.status = words.loading;
  open(mine);
  try {
    const { running } = (await get(`/api/sessions/${id}`)).session;
    const data = await get(`/api/sessions/${id}/messages?newest=true&limit=${STRETCH}`);
    // The events of a turn that runs have what followed its prompt.
    if (running) data.messages.splice(data.messages.findLastIndex((one) => one.role === "user") + 1);
    mine.title ||= (data.messages.find((one) => one.role === "user")?.content ?? "").split("\n")[0].slice(0, 60);
    mine.place.append(...(await recordsOf(mine, data.messages)));
    let from = data.offset;
    const earlier = button(words.earlier, "", async () => {
      earlier.disabled = true;
      const offset = Math.max(0, from - STRETCH);
      try {
        const before = await get(`/api/sessions/${id}/messages?offset=${offset}&limit=${from - offset}`);
        const records = await recordsOf(mine, before.messages);
        // What is read stays where it is on the screen.
        const height = log.scrollHeight - log.scrollTop;
        earlier.after(...records);
        log.scrollTop = log.scrollHeight - height;
        from = offset;
      } catch (error) {
        earlier.after(node("article", "bad", why(error)));
      }
      earlier.disabled = false;
      if (from === 0) earlier.remove();
    });
    if (from > 0) mine.place.prepend(earlier);
    mine.follow();
    if (running && view === mine) attach(mine);
  } catch (error) {
    // The next prompt begins another one.
    mine.id = "new";
    mine.say(why(error), "bad");
    if (view === mine) name();
  }
  mine.loading = false;
  mine.tell(mine.turn ? mine.status : "");
}

/** Takes back what the last turn changed, or the last undo, and says which files that were. */
async function undo(redo) {
  const mine = view;
  try {
    const answer = await (await ask(redo ? "/api/redo" : "/api/undo", {})).json();
    const said = mine.say(answer.message, answer.success ? "note" : "bad");
    const names = (answer.data?.undone?.done ?? []).map((one) => node("li", "", plain(`${one.name}: ${one.what}`)));
    const left = (answer.data?.undone?.refused ?? []).map((one) => node("li", "bad", plain(`${one.name}: ${one.why}`)));
    if (names.length || left.length) said.append(node("ul", "", names, left));
    if (names.length && !redo) said.append(button(words.redo, "", () => undo(true)));
    mine.follow();
  } catch (error) {
    mine.say(why(error), "bad");
  }
}

async function past() {
  const list = at("list");
  const more = async (offset) => {
    const { sessions, total } = await get(`/api/sessions?offset=${offset}`);
    const rows = sessions.map((one) => {
      const when = new Date(one.changed).toLocaleString(language, { dateStyle: "short", timeStyle: "short" });
      const choose = button("", "", () => {
        if (!leaves()) return;
        at("sessions").close();
        show(one.id, one.title.slice(0, 60));
      });
      choose.append(node("span", "when", when), " ", plain(one.title));
      return node("li", "", choose);
    });
    list.append(...rows);
    const next = offset + sessions.length;
    if (sessions.length && next < total) {
      const further = node("li", "", button(words.further, "", () => {
        further.remove();
        more(next).catch((error) => list.append(node("li", "bad", why(error))));
      }));
      list.append(further);
    }
  };
  list.replaceChildren();
  try {
    await more(0);
    if (!list.hasChildNodes()) list.append(node("li", "note", words.none));
  } catch (error) {
    list.append(node("li", "bad", why(error)));
  }
  if (!at("sessions").open) at("sessions").showModal();
}

function fresh() {
  const begun = new View("new", "");
  begun.say(words.empty);
  if (!recorded) begun.say(words.forgets);
  open(begun);
  at("prompt").focus();
}

// The page ------------------------------------------------------------------------------------------------------------------------

/** A window in which what is asked for has one row, as `page.css` has it. */
const compact = matchMedia("(max-width: 30rem), (max-height: 30rem)");

/** Gives the prompt as many rows as it has lines, and no more than leave room for what is said. */
function fit() {
  const prompt = at("prompt");
  const most = compact.matches ? Math.max(1, Math.min(6, Math.floor(innerHeight / 100))) : 10;
  prompt.rows = compact.matches ? 1 : 3;
  // There the label is only heard.
  prompt.placeholder = compact.matches ? words.prompt : "";
  while (prompt.rows < most && prompt.scrollHeight > prompt.clientHeight) prompt.rows += 1;
}

function isAtEnd() {
  return log.scrollHeight - log.scrollTop - log.clientHeight < 80;
}

/** What counts stays in sight when the window changes, as it does where a keyboard opens: a question, the field in which somebody
    types in it, or else the end, if it was in sight. */
function resized() {
  const asked = view.place.querySelector(".question");
  if (asked) view.reveal(asked.contains(document.activeElement) && document.activeElement !== asked ? document.activeElement : asked);
  else if (below) view.follow();
}

function fitting() {
  const size = () => `${log.clientWidth} ${log.clientHeight}`;
  let seen = size();
  // An event of scrolling may come when the window has changed already: where the end is then, nobody has scrolled to.
  log.addEventListener("scroll", () => size() === seen && (below = isAtEnd()));
  new ResizeObserver(() => {
    seen = size();
    resized();
  }).observe(log);
  at("prompt").addEventListener("input", fit);
  addEventListener("resize", fit);
  at("more").addEventListener("click", () => {
    const open = at("ask").classList.toggle("open");
    at("more").setAttribute("aria-expanded", open);
  });
  // What was chosen is seen where it is folded away.
  at("options").addEventListener("change", () => {
    const persona = [...at("persona").options].findIndex((one) => one.defaultSelected);
    at("more").classList.toggle("set", at("tool").value !== "auto" || at("persona").selectedIndex !== persona);
  });
}

/** Ends the turn of the conversation that is shown. */
function stop() {
  const mine = view;
  mine.turn?.stop().catch((error) => mine.say(why(error), "bad"));
}

function listen() {
  fitting();
  at("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    const prompt = at("prompt").value;
    if (!ready || view.turn || view.loading || !prompt.trim()) return;
    at("prompt").value = "";
    fit();
    send(view, prompt);
  });
  at("prompt").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      at("ask").requestSubmit();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing || document.querySelector("dialog[open]")) return;
    // There it closes a list, or is meant for the question.
    if (!event.target.closest?.(".question, select")) stop();
  });
  at("stop").addEventListener("click", stop);
  at("past").addEventListener("click", past);
  at("undo").addEventListener("click", () => undo(false));
  at("fresh").addEventListener("click", () => leaves() && fresh());
  // Whoever pastes an address with a token into the open page wants to come in with it.
  addEventListener("hashchange", () => {
    const given = new URLSearchParams(location.hash.slice(1));
    if (given.has("token") || given.has("session")) location.reload();
  });
  // A turn that is not recorded ends with its page.
  addEventListener("beforeunload", (event) => view.turn && !recorded && event.preventDefault());
  // What was typed survives a page that is loaded again by mistake.
  at("prompt").value = sessionStorage.getItem("prompt") ?? "";
  fit();
  addEventListener("pagehide", () => sessionStorage.setItem("prompt", at("prompt").value));
}

async function begin() {
  document.documentElement.lang = language;
  document.querySelectorAll("[data-text]").forEach((one) => (one.textContent = words[one.dataset.text]));
  document.querySelectorAll("[data-label]").forEach((one) => (one.ariaLabel = one.title = words[one.dataset.label]));
  log.setAttribute("aria-label", words.log);
  // What comes behind the # is told to no server and no log, and a token does not stay in the history of the browser.
  const given = new URLSearchParams(location.hash.slice(1));
  const session = given.get("session");
  fresh();
  listen();
  const first = view;
  try {
    if (given.has("token")) await login(given.get("token"));
    const { tools } = await get("/api/tools");
    at("tool").options[0].text = words.every;
    at("tool").append(...tools.map((tool) => node("option", "", tool.name)));
    const { personas, chosen } = await get("/api/personas").catch(() => ({ personas: [] }));
    at("persona").parentElement.hidden = personas.length < 2;
    at("persona").append(...personas.map((one) => new Option(one.name, one.name, one.name === chosen, one.name === chosen)));
    personas.forEach((one, index) => (at("persona").options[index].title = one.description));
    const known = await get("/api/sessions?limit=1").catch(() => ({ recording: false }));
    recorded = known.recording !== false;
    at("past").disabled = known.total === undefined;
    ready = true;
    // Whoever chose another conversation meanwhile stays there.
    if (view !== first) controls();
    else if (session && /^[A-Za-z0-9_-]{1,64}$/.test(session)) await show(session, "");
    else fresh();
  } catch (error) {
    ready = true;
    view.say(why(error), "bad");
    controls();
  }
}

begin();
