// Nodes of the page. What a tool or a file says becomes the text of nodes and nothing else. For the words of a model see `markdown.js`.

import { words } from "/words.js";

export const at = (id) => document.getElementById(id);

/** An element with what is inside: nodes, texts, and lists of both. */
export function node(name, kind, ...inside) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  // One by one: a call takes only so many arguments.
  for (const one of inside.flat()) made.append(one);
  return made;
}

export function button(text, kind, act) {
  const made = node("button", kind, text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

/** What scrolls has to be reachable without a mouse, and to have a name then. */
export function scrolls(made, name) {
  made.tabIndex = 0;
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", name);
  return made;
}

/** What cannot be seen: control characters, and those of the table that the policy has for commands. */
const UNSEEN = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f" +
  "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]", "gu");

/** A text with what cannot be seen, or turns its direction, written out: what is agreed to has to be what is read. */
export function plain(text) {
  return text.replace(UNSEEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

export function pre(text, name) {
  return scrolls(node("pre", "", plain(text)), name);
}

/** Says something to a screen reader. */
export function announce(text) {
  at("said").textContent = "";
  at("said").textContent = text;
}

/** A button that copies what `text` returns. Browsers have a clipboard for secure origins only; elsewhere there is no button. */
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
