// Creates nodes. Output of tools and contents of files become text nodes only. For replies of the model see
// `markdown.js`.

import { words } from "/words.js";

export const at = (id) => document.getElementById(id);

/** Creates an element with children: nodes, texts, and lists of both. */
export function node(name, kind, ...inside) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  // Append one by one: the number of arguments of a call is limited.
  for (const one of inside.flat()) made.append(one);
  return made;
}

export function button(text, kind, act) {
  const made = node("button", kind, text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

/** Makes a scrolling element reachable by keyboard, which also requires a label. */
export function scrolls(made, name) {
  made.tabIndex = 0;
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", name);
  return made;
}

/** Matches invisible characters: control characters, and those in the protocol's table. */
const UNSEEN = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f" +
  "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]", "gu");

/** Writes out invisible and bidirectional control characters, so that a person approves exactly what is displayed. */
export function plain(text) {
  return text.replace(UNSEEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

export function pre(text, name) {
  return scrolls(node("pre", "", plain(text)), name);
}

/** Announces a text to screen readers. */
export function announce(text) {
  at("said").textContent = "";
  at("said").textContent = text;
}

/** Returns a button that copies the result of `text`. Browsers offer the clipboard only to secure origins; elsewhere
    there is no button. */
export function copier(text, name) {
  if (!globalThis.navigator?.clipboard) return [];
  const made = button(words.copy, "copy", async () => {
    const done = await navigator.clipboard.writeText(text()).then(() => words.copied, () => words.not_copied);
    made.textContent = done;
    announce(done);
    setTimeout(() => (made.textContent = words.copy), 2000);
  });
  made.title = name;
  return made;
}
