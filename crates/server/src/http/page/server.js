// Requests to the server, with the token of the person.

import { at } from "/nodes.js";
import { words } from "/words.js";

/** A request. Where the server does not know this page (any more) the person is asked for the token, and then it is sent again. */
export async function ask(path, body, signal) {
  for (;;) {
    const headers = {};
    const key = localStorage.getItem("toolfence");
    if (key) headers["X-Page-Key"] = key;
    if (body) headers["Content-Type"] = "application/json";
    const response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
    if (response.status !== 401) return response;
    await enter();
    signal?.throwIfAborted();
  }
}

/** The data of an answer. Throws an error with the reason if there is no data. */
export async function get(path, body) {
  const response = await ask(path, body);
  const answer = await response.json();
  if (!answer.success) throw new Error(answer.message);
  return answer.data;
}

/** Exchanges the token for a cookie, and for the key without which the cookie is worth nothing. Cookies go to every port of a machine,
    and what a page stores does not. */
export async function login(token) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch("/api/login", { method: "POST", headers, body: JSON.stringify({ token }) });
  if (response.ok) localStorage.setItem("toolfence", (await response.json()).data.page_key);
  return response.ok;
}

let entering = null;

/** Asks for the token until it is right, once for all that wait. */
function enter() {
  entering ??= new Promise((entered) => {
    const dialog = at("entry");
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

/** What went wrong, in words. */
export function why(error) {
  // A program between the page and a server that has ended answers without JSON.
  return error instanceof TypeError || error instanceof SyntaxError ? words.gone : error.message;
}

export async function* events(response) {
  let text = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece; !(piece = await reader.read()).done; ) {
    const seen = Math.max(0, text.length - 1);
    text += piece.value;
    let from = 0;
    // What was looked through before is not looked through again.
    for (let end; (end = text.indexOf("\n\n", Math.max(from, seen))) >= 0; from = end + 2) {
      const data = text.slice(from, end).split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice(6));
    }
    text = text.slice(from);
  }
}
