// Requests to the server, and the login with the token.

import { at } from "/nodes.js";
import { words } from "/words.js";

/** Sends a request. If the server does not accept the page's cookie, asks the person for the token and sends the
    request again. */
export async function ask(path, body, signal, more) {
  for (;;) {
    const headers = { ...more };
    const key = localStorage.getItem("toolfence");
    if (key) headers["X-Page-Key"] = key;
    if (body) headers["Content-Type"] = "application/json";
    const response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
    if (response.status !== 401) return response;
    await enter();
    signal?.throwIfAborted();
  }
}

/** Returns the data of an answer. Throws an error with the reason if there is no data. */
export async function get(path, body) {
  const response = await ask(path, body);
  const answer = await response.json();
  if (!answer.success) throw new Error(answer.message);
  return answer.data;
}

/** Exchanges the token for a cookie and a key; the server accepts neither alone. Browsers send cookies to every port of
    a machine, but a page's storage belongs to one port. */
export async function login(token) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch("/api/login", { method: "POST", headers, body: JSON.stringify({ token }) });
  if (response.ok) localStorage.setItem("toolfence", (await response.json()).data.page_key);
  return response.ok;
}

let entering = null;

/** Asks for the token until the server accepts it. All waiting requests share one dialog. */
function enter() {
  entering ??= new Promise((entered) => {
    const dialog = at("entry");
    // Escape must not close the dialog, because requests wait for the token.
    dialog.oncancel = (event) => event.preventDefault();
    dialog.onclose = async () => {
      const right = await login(at("token").value).catch(() => null);
      at("token").value = "";
      if (right) {
        entering = null;
        return entered();
      }
      at("entry-title").textContent = right === null ? words.gone : words.denied;
      dialog.showModal();
    };
    at("entry-title").textContent = words.entry;
    dialog.showModal();
  });
  return entering;
}

/** Returns the message of an error. */
export function why(error) {
  // If the server has ended, a reverse proxy may answer without JSON.
  return error instanceof TypeError || error instanceof SyntaxError ? words.gone : error.message;
}

/** Milliseconds without a byte after which a connection counts as lost: the server sends a comment every 15 seconds. */
const SILENCE = 45_000;
/** The number of attempts to reconnect, and the longest pause between them in milliseconds. */
const ATTEMPTS = 60;
const PAUSE = 10_000;

/** Waits for a promise, with a time limit. */
function within(promise, milliseconds) {
  let timer;
  const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new TypeError("silent")), milliseconds)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Yields the events of a response, each with its id if it has one. */
async function* events(response) {
  let text = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let piece; !(piece = await within(reader.read(), SILENCE)).done; ) {
      // Search only the new text. The two line ends after an event may arrive in different pieces.
      const seen = Math.max(0, text.length - 1);
      text += piece.value;
      let from = 0;
      for (let end; (end = text.indexOf("\n\n", Math.max(from, seen))) >= 0; from = end + 2) {
        const lines = text.slice(from, end).split("\n");
        const field = (name) => lines.find((line) => line.startsWith(name))?.slice(name.length);
        const data = field("data: ");
        if (data) yield { id: field("id: "), event: JSON.parse(data) };
      }
      text = text.slice(from);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** A turn at the server. In a conversation it continues without this page, which can attach to it again. */
export class Turn {
  #reading = new AbortController();
  #response = null;
  #last = "0";

  /** `session` is the id of the conversation; null for a turn that ends with its connection. */
  constructor(session) {
    this.session = session;
    this.stopped = false;
  }

  /** Sends the request that begins the turn. Throws an error with the reason if the server refuses it. */
  async begin(path, body) {
    const response = await ask(path, body, this.#reading.signal);
    if (!response.ok) throw new Error((await response.json()).message);
    this.session = response.headers.get("X-Session");
    this.#response = response;
    // `stop` was called while the request was in flight, before the name of the conversation was known.
    if (this.stopped) await this.stop();
  }

  /** Yields the events up to the end of the turn. The event `lost` means that the connection broke and the page
      reconnects. */
  async *events() {
    const { signal } = this.#reading;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const resumes = !this.#response;
      try {
        const path = `/api/sessions/${this.session}/events`;
        const response = this.#response ?? (await ask(path, null, signal, { "Last-Event-ID": this.#last }));
        this.#response = null;
        if (!response.ok) return;
        for await (const { id, event } of events(response)) {
          // Only failures in a row count.
          attempt = 0;
          this.#last = id ?? this.#last;
          yield event;
          if (event.event === "stop" || event.event === "results") return;
        }
        // The answer to the first request may break off. A resumed stream ends only with its turn.
        if (resumes || !this.session) return;
      } catch (error) {
        if (signal.aborted || !this.session) throw error;
      }
      yield { event: "lost" };
      await new Promise((over) => setTimeout(over, Math.min(1000 * attempt, PAUSE)));
      signal.throwIfAborted();
    }
    throw new TypeError("gone");
  }

  /** Ends the turn. */
  async stop() {
    this.stopped = true;
    if (this.session && this.session !== "new") await get(`/api/sessions/${this.session}/cancel`, {});
    // Outside of a conversation, the turn ends with its connection.
    else if (this.session === null) this.leave();
  }

  /** Stops reading. */
  leave() {
    this.#reading.abort();
  }
}
