// Nodes of the page. What a tool or a file says becomes the text of nodes and nothing else. For the words of a model see `markdown.js`.

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

/** A unified diff, each line in the colour of its sign, except for the two names of a file. */
export function diff(text, name) {
  const made = scrolls(node("pre", "diff"), name);
  const lines = text.replace(/\n$/, "").split("\n");
  const begins = (at, start) => lines[at]?.startsWith(start) ?? false;
  const names = (at) => begins(at, "--- ") && begins(at + 1, "+++ ") && begins(at + 2, "@@");
  lines.forEach((line, at) => {
    let kind = line.startsWith("@@") ? "hunk" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
    if (names(at) || names(at - 1)) kind = "";
    made.append(node("span", kind, plain(line)), "\n");
  });
  return made;
}

/** Lines of a change that are shown at first, and how many more are not worth a button. */
const FIRST = 60;
const FEW = 8;

/** A diff that is folded where it is long: behind a button with this text and the number of lines is all of it. What precedes the first
    file of the diff, such as removals, is never folded. */
export function change(text, name, more) {
  const lines = text.replace(/\n$/, "").split("\n");
  const file = lines.findIndex((line) => line.startsWith("--- "));
  const shown = Math.max(FIRST, file < 0 ? lines.length : file);
  if (lines.length <= shown + FEW) return [diff(text, name)];
  const first = diff(lines.slice(0, shown).join("\n"), name);
  const rest = button(`${more} ${lines.length}`, "", () => {
    const all = diff(text, name);
    first.replaceWith(all);
    rest.remove();
    all.focus();
  });
  return [first, rest];
}
