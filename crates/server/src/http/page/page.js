// The page of `coder serve`: prompts, streamed answers, calls with their results, questions, and conversations.

import { cancelled, closed, opened } from "/calls.js";
import { compose, setPrompt } from "/composer.js";
import { StreamedText, rendered } from "/markdown.js";
import { at, button, copier, node, plain } from "/nodes.js";
import { listenForKeys, question } from "/question.js";
import { Turn, ask, get, login, why } from "/server.js";
import { changed, listSessions, mark, newest, time } from "/sessions.js";
import { language, words } from "/words.js";

/** The number of records of a conversation that are shown at a time. */
const STRETCH = 200;
/** The context that is sent to a server that does not record conversations. */
const MOST_CONTEXT = 20;

const log = at("log");

/** The displayed conversation. Late events of another one go to the detached nodes of that one. */
let view = null;
/** Whether the end of the conversation was visible after the page last scrolled. */
let below = true;
/** Whether the server records conversations. */
let recorded = true;
/** Whether the page has loaded what it needs for a turn. */
let ready = false;
/** The facts of `GET /api/project`. */
let project = null;
/** The latest conversation at the time when the page was loaded. */
let last = null;

class View {
  constructor(id, title) {
    /** The name of the conversation that the next prompt continues. */
    this.id = id;
    this.title = title;
    this.place = node("div");
    this.turn = null;
    this.questions = 0;
    this.status = "";
    this.context = [];
    /** The tokens of the next request and the model's context window, if they are known. */
    this.window = null;
    /** The cost of the replies; null if that of some is unknown. */
    this.cost = 0;
  }

  get isShown() {
    return view === this;
  }

  /** Changes the display. Keeps the end in view unless the person has scrolled up. */
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

  /** Shows an error in view, wherever the person has scrolled to. */
  say(text, kind = "note") {
    const made = this.add(node("article", kind, text));
    if (kind === "bad") this.reveal(made);
    return made;
  }

  /** Scrolls a node into view; if it is higher than the window, its beginning. */
  reveal(made) {
    if (view !== this) return;
    const fits = made.offsetHeight <= log.clientHeight;
    made.scrollIntoView({ block: fits ? "nearest" : "start" });
    // The window may be resized before the event of this scrolling fires.
    below = isAtEnd();
  }

  tell(status) {
    this.status = status;
    if (view === this) controls();
  }
}

/** Shows a conversation. A turn of the previous one continues on the server if it is recorded. */
function open(next) {
  const before = view;
  view = next;
  before?.turn?.leave();
  log.replaceChildren(next.place);
  log.scrollTop = log.scrollHeight;
  name();
  controls();
  facts();
}

/** Keeps the name of the conversation in the address, so that a reload shows it again. */
function name() {
  mark(view.id);
  history.replaceState(null, "", view.id === "new" ? "/" : `/#session=${view.id}`);
}

/** Asks before leaving a conversation whose running turn is not recorded and would end. */
function leaves() {
  return !view.turn || recorded || confirm(words.ends_turn);
}

function controls() {
  at("send").disabled = !ready || Boolean(view.turn) || view.loading === true;
  at("stop").disabled = !view.turn;
  if (at("status").textContent !== view.status) at("status").textContent = view.status;
  document.title = `${view.questions ? "? " : ""}${view.title ? `${view.title} - ` : ""}coder`;
}

// The project ---------------------------------------------------------------------------------------------------------------------

/** Formats a number of tokens, such as 12.3k. */
function tokens(count) {
  if (count < 1000) return count.toLocaleString(language);
  return `${(count / 1000).toLocaleString(language, { maximumFractionDigits: count < 100_000 ? 1 : 0 })}k`;
}

/** Shows the project, the branch, the model, and the used part of its context window. */
function facts() {
  if (!project) return;
  const fact = (kind, text, title) => {
    const made = node("span", kind, plain(text));
    made.title = title;
    return made;
  };
  const all = [fact("folder", project.folder.split("/").filter(Boolean).at(-1) ?? "/", `${words.folder}: ${project.folder}`)];
  if (project.branch) all.push(fact("branch", project.branch, `${words.branch}: ${project.branch}`));
  if (project.model) {
    all.push(fact("model", project.model, `${words.model}: ${project.model}${project.server ? ` (${project.server})` : ""}`));
  }
  const used = view.window?.tokens;
  const window = view.window?.window ?? project.window;
  if (used && window) {
    const share = Math.round((100 * used) / window);
    all.push(fact("window", `${tokens(used)} / ${tokens(window)} (${share} %)`, words.window));
  } else if (used) all.push(fact("window", `${tokens(used)} tokens`, words.window));
  if (project.price && view.cost) {
    const cost = view.cost.toLocaleString(language, { minimumFractionDigits: 2, maximumFractionDigits: 4 });
    all.push(fact("cost", `${words.cost} ${cost}`, words.cost_means));
  }
  at("facts").replaceChildren(...all);
}

/** Reads the facts again: a turn may have changed the branch. */
async function readFacts() {
  project = await get("/api/project").catch(() => project);
  facts();
}

/** Returns the price of replies with these token counts. */
function priced({ input, cached, output }) {
  const { price } = project ?? {};
  const known = Math.min(cached, input);
  return price ? ((input - known) * price.input + known * price.cached + output * price.output) / 1e6 : 0;
}

// A turn --------------------------------------------------------------------------------------------------------------------------

/** The events that add nodes below the text so far. */
const SHOWN = ["ask", "running", "result", "error", "gap", "stop"];

/** Displays the events of a turn. */
class Telling {
  constructor(place) {
    this.place = place;
    this.coming = null;
    this.thought = null;
    /** The nodes of the text since the last call. */
    this.said = [];
    this.calls = new Map();
    /** The arguments of calls by their ids, for those that never run. */
    this.args = new Map();
    /** The reasons for which the person denied calls, by their ids. */
    this.reasons = new Map();
    this.answer = "";
    /** The end of the last piece of the reply. */
    this.reached = 0;
    this.ended = false;
    /** Events were lost. */
    this.gap = false;
  }

  /** Begins another reply. Its text does not continue that of the last one. */
  begins({ span, unopened }) {
    // Reasoning on a separate channel has no position in the reply.
    const [start, end] = span ?? [0, 0];
    if (unopened || start === end) return;
    // The positions of each reply begin at 0, so a lower one belongs to another reply.
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
      this.coming = new StreamedText((draw) => this.place.keeping(draw));
      this.said.push(this.place.add(this.coming.node));
    }
    this.coming.push(text);
  }

  settle() {
    this.coming?.finish();
    this.coming = null;
  }

  /** Turns the text of this reply into reasoning: a closing tag arrived without an opening one. */
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
    // Another client sent this reply and gets its results. The records have the earlier replies of its turn.
    if (event.event === "results") this.ended = this.gap = true;
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
    // Other events show nothing, so they do not divide the text.
    if (!SHOWN.includes(event.event)) return;
    this.settle();
    this.thought = null;
    if (event.event === "ask") {
      place.questions += 1;
      place.tell(words.waiting);
      question(place, event, (reason) => this.reasons.set(event.id, reason));
    } else if (event.event === "running") {
      this.answered();
      this.said = [];
      place.tell(plain(`${words.works} ${event.tool}`));
      this.calls.set(event.id, opened(place, event.tool, event.args));
    } else if (event.event === "result") {
      this.answered();
      closed(this.calls.get(event.id) ?? opened(place, event.tool, this.args.get(event.id)), event, this.reasons.get(event.id));
      for (const known of [this.calls, this.args, this.reasons]) known.delete(event.id);
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
      if (place.turn?.stopped) place.say(words.stopped, "note");
      else if (event.reason !== "answered") place.say(words.ends[event.reason] ?? event.reason, event.reason === "cancelled" ? "note" : "bad");
      if (event.window) place.window = event.window;
      if (event.usage && place.cost !== null) place.cost += priced(event.usage);
    }
  }

  /** Closes all questions, because they were answered in this page or by another client. */
  answered() {
    this.place.questions = 0;
    this.place.place.querySelectorAll(".question").forEach((one) => one.remove());
  }

  end() {
    this.settle();
    this.answered();
    for (const one of this.calls.values()) cancelled(one);
    if (this.ended && !this.place.turn?.stopped && this.answer.trim()) this.place.add(footer(this.answer));
  }
}

/** Adds the line below the answer of a turn. */
function footer(text) {
  return node("div", "footer", copier(() => text.trim(), words.copy_answer));
}

/** Runs a turn in a conversation. A prompt that did not reach the server is put back into the box. */
async function send(mine, prompt) {
  const turn = (mine.turn = new Turn(recorded ? mine.id : null));
  mine.title ||= prompt.trim().split("\n")[0].slice(0, 60);
  mine.place.querySelector(".empty")?.remove();
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
    changed();
    for await (const event of turn.events()) telling.event(event);
    if (!telling.ended) mine.say(words.ends.unfinished, "bad");
    mine.context.push({ timestamp: new Date().toISOString(), prompt, result: telling.answer });
  } catch (error) {
    if (error.name === "AbortError") mine.say(words.stopped);
    else mine.say(why(error), "bad");
    if (!begun && error.name !== "AbortError") {
      asked.remove();
      mine.say(words.kept);
      // Keep the text that was typed meanwhile.
      const typed = at("prompt").value;
      setPrompt(typed.trim() ? `${prompt}\n\n${typed}` : prompt);
    }
  } finally {
    over(mine, telling);
    // The dialog for the token may be open, and it needs the focus.
    if (view === mine && !document.querySelector("dialog[open]")) at("prompt").focus();
  }
}

/** Shows the running turn of a conversation from its beginning. */
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
  changed();
  readFacts();
  // The records have the content of the lost events.
  if (telling.gap && telling.ended && view === mine) show(mine.id, mine.title);
}

// Conversations -------------------------------------------------------------------------------------------------------------------

/** Fetches records of a recorded conversation. */
async function recordsOf(place, records) {
  const shown = new View(place.id, "");
  const answers = new Map();
  await Promise.all(records.map(async (record) => {
    if (record.role === "assistant" && record.content) answers.set(record, await rendered(record.content));
  }));
  for (const record of records) {
    if (record.thoughts) shown.add(node("details", "thought", node("summary", "", words.thought), node("div", "", record.thoughts)));
    if (record.role === "user") shown.say(record.content, "user");
    else if (answers.has(record)) {
      shown.add(node("article", "answer", answers.get(record)));
      if (!record.has_calls) shown.add(footer(record.content));
    } else if (record.role === "tool" && record.tool_result) {
      const { args, asked } = record.tool_call ?? {};
      closed(opened(shown, record.tool_result.tool_name, args), record.tool_result, asked && (asked.at(-1)?.why ?? ""));
    } else if (record.role === "note" && record.content) shown.say(record.content);
  }
  return [...shown.place.childNodes];
}

/** Shows the newest records of a recorded conversation. The next prompt continues it. */
async function show(id, title) {
  const mine = new View(id, title);
  mine.loading = true;
  mine.status = words.loading;
  open(mine);
  try {
    // A turn that ends after this request can still be followed: the server keeps the events of the last turns.
    const { running } = (await get(`/api/sessions/${id}`)).session;
    const data = await get(`/api/sessions/${id}/messages?newest=true&limit=${STRETCH}`);
    // The events of the running turn have everything after its prompt.
    if (running) data.messages.splice(data.messages.findLastIndex((one) => one.role === "user") + 1);
    mine.title ||= (data.messages.find((one) => one.role === "user")?.content ?? "").split("\n")[0].slice(0, 60);
    mine.place.append(...(await recordsOf(mine, data.messages)));
    const replies = data.messages.filter((one) => one.tokens);
    const newestReply = replies.at(-1)?.tokens;
    if (newestReply) mine.window = { tokens: newestReply.input + newestReply.output, window: null };
    // The prices are those of the present model, and the cost needs all replies.
    const isPriced = data.offset === 0 && replies.every((one) => one.model === project?.model);
    mine.cost = isPriced ? replies.reduce((sum, one) => sum + priced(one.tokens), 0) : null;
    let from = data.offset;
    const earlier = button(words.earlier, "", async () => {
      earlier.disabled = true;
      const offset = Math.max(0, from - STRETCH);
      try {
        const before = await get(`/api/sessions/${id}/messages?offset=${offset}&limit=${from - offset}`);
        const records = await recordsOf(mine, before.messages);
        // Keep the visible part where it is on the screen.
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
    // The next prompt begins another conversation.
    mine.id = "new";
    mine.say(why(error), "bad");
    if (view === mine) name();
  }
  mine.loading = false;
  mine.tell(mine.turn ? mine.status : "");
  facts();
}

/** Undoes the last turn, or redoes the last undo, and lists the files. */
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

/** Shows the start screen: the last conversation and example prompts. */
function suggestions() {
  const made = node("div", "empty", node("p", "note", words.empty));
  if (!recorded) made.append(node("p", "note", words.forgets));
  if (last) {
    const again = button("", "last", () => show(last.id, last.title.slice(0, 60)));
    again.append(node("span", "when", words.resume), node("span", "title", plain(last.title)), time(last.changed));
    made.append(again);
  }
  const examples = words.examples.map((text) => button(text, "", () => {
    setPrompt(text);
    at("prompt").focus();
  }));
  made.append(node("div", "examples", examples));
  return made;
}

function fresh() {
  const begun = new View("new", "");
  if (view && view.id !== "new") last = { id: view.id, title: view.title, changed: new Date().toISOString() };
  begun.add(suggestions());
  open(begun);
  at("prompt").focus();
}

// The page ------------------------------------------------------------------------------------------------------------------------

function isAtEnd() {
  return log.scrollHeight - log.scrollTop - log.clientHeight < 80;
}

/** Keeps the important part in view when the window is resized, such as by an on-screen keyboard: a question, a field
    in it that has the focus, or else the end if it was in view. */
function resized() {
  const asked = view.place.querySelector(".question");
  if (asked) view.reveal(asked.contains(document.activeElement) && document.activeElement !== asked ? document.activeElement : asked);
  else if (below) view.follow();
}

function fitting() {
  const size = () => `${log.clientWidth} ${log.clientHeight}`;
  let seen = size();
  // A scroll event may fire after the window was resized. The person has not scrolled then.
  log.addEventListener("scroll", () => size() === seen && (below = isAtEnd()));
  new ResizeObserver(() => {
    seen = size();
    resized();
  }).observe(log);
}

/** Ends the turn of the displayed conversation. */
function stop() {
  const mine = view;
  mine.turn?.stop().catch((error) => mine.say(why(error), "bad"));
}

function listen() {
  fitting();
  compose((prompt) => send(view, prompt));
  listenForKeys();
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing || document.querySelector("dialog[open]")) return;
    // Escape in a list closes the list, and Escape in a question does not stop the turn.
    if (!event.target.closest?.(".question, select")) stop();
  });
  at("stop").addEventListener("click", stop);
  at("undo").addEventListener("click", () => undo(false));
  at("fresh").addEventListener("click", () => leaves() && fresh());
  // Pasting an address with a token into the open page is a login.
  addEventListener("hashchange", () => {
    const given = new URLSearchParams(location.hash.slice(1));
    if (given.has("token") || given.has("session")) location.reload();
  });
  // A turn that is not recorded ends with its page.
  addEventListener("beforeunload", (event) => view.turn && !recorded && event.preventDefault());
}

async function begin() {
  document.documentElement.lang = language;
  document.querySelectorAll("[data-text]").forEach((one) => (one.textContent = words[one.dataset.text]));
  document.querySelectorAll("[data-label]").forEach((one) => {
    one.ariaLabel = words[one.dataset.label];
    if (one.matches("button")) one.title = one.ariaLabel;
  });
  log.setAttribute("aria-label", words.log);
  // The fragment is not sent to servers or logged. Remove it, so that the token does not stay in the browser history.
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
    await readFacts();
    const known = await newest();
    recorded = known.recorded;
    last = known.session;
    listSessions(known.readable, (chosen) => {
      if (!leaves()) return false;
      show(chosen.id, chosen.title.slice(0, 60));
      return true;
    });
    ready = true;
    // Do not switch if another conversation was chosen meanwhile.
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
