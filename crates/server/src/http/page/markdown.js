// Markdown as nodes, in time linear in the text: headings, lists, tables, quotes, code, emphasis and links. HTML stays text, and a link
// leads to http, https or mailto and nowhere else.

import { node, scrolls } from "/nodes.js";
import { words } from "/words.js";

/** Lists and quotes in one another; what is deeper is a paragraph. The time of a text grows with this and no more. */
const MOST_DEEP = 8;
/** Emphasis in one another. */
const MOST_OPEN = 24;
/** Characters of an address. */
const MOST_OF_ADDRESS = 2048;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:[ \t]|$)/;

const isBlank = (line) => !line.trim();
const indent = (line) => line.length - line.trimStart().length;

/** The fence that opens on this line. That of backticks has none behind it, or it is code in a line. */
function fence(line) {
  const found = FENCE.exec(line);
  return found && !(found[1][0] === "`" && line.slice(found[0].length).includes("`")) ? found : null;
}

/** Whether a line ends the paragraph above it. */
function begins(line) {
  const item = ITEM.exec(line);
  const counts = item && line.length > item[0].length && (item[2].length === 1 || parseInt(item[2], 10) === 1);
  return Boolean(counts || fence(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line));
}

/** Puts the blocks of these lines into a list of nodes. Gives where the last one began: its line, the nodes before it, the headings above. */
function blocks(lines, into, levels, depth) {
  let last = { line: 0, nodes: 0, levels: [...levels] };
  for (let line = 0; line < lines.length; ) {
    if (isBlank(lines[line])) {
      line += 1;
      continue;
    }
    last = { line, nodes: into.length, levels: [...levels] };
    line = block(lines, line, into, levels, depth);
  }
  return last;
}

/** One block from this line on. Gives the line behind it. */
function block(lines, at, into, levels, depth) {
  const line = lines[at];
  const opening = fence(line);
  if (opening) return code(lines, at, opening, into);
  const heading = HEADING.exec(line);
  if (heading) {
    // Readers of a screen jump from heading to heading, so no level may be left out.
    while (levels.length && levels.at(-1) >= heading[1].length) levels.pop();
    levels.push(heading[1].length);
    let text = line.slice(heading[0].length).trim();
    let end = text.length;
    while (text[end - 1] === "#") end -= 1;
    if (end === 0 || /\s/.test(text[end - 1])) text = text.slice(0, end);
    into.push(node(`h${Math.min(levels.length + 1, 6)}`, "", inline(text)));
    return at + 1;
  }
  if (RULE.test(line)) {
    into.push(node("hr"));
    return at + 1;
  }
  if (depth < MOST_DEEP && QUOTE.test(line)) {
    const inside = [];
    for (; at < lines.length && QUOTE.test(lines[at]); at += 1) inside.push(lines[at].replace(QUOTE, ""));
    const made = [];
    blocks(inside, made, levels, depth + 1);
    into.push(node("blockquote", "", made));
    return at;
  }
  if (depth < MOST_DEEP && ITEM.test(line)) return list(lines, at, into, levels, depth);
  if (line.includes("|") && at + 1 < lines.length) {
    const behind = table(lines, at, into);
    if (behind) return behind;
  }
  if (indent(line) >= 4 && depth === 0) {
    const inside = [];
    for (; at < lines.length && (isBlank(lines[at]) || indent(lines[at]) >= 4); at += 1) inside.push(lines[at].slice(4));
    into.push(scrolls(node("pre", "", node("code", "", inside.join("\n").trimEnd())), words.code));
    return at;
  }
  const inside = [line.trimStart()];
  for (at += 1; at < lines.length && !isBlank(lines[at]) && !begins(lines[at]); at += 1) inside.push(lines[at].trimStart());
  into.push(node("p", "", inline(inside.join("\n").trimEnd())));
  return at;
}

function code(lines, at, [, marks], into) {
  const margin = indent(lines[at]);
  const inside = [];
  const closes = (line) => {
    const text = line.trim();
    return text.startsWith(marks) && indent(line) < 4 && [...text].every((c) => c === marks[0]);
  };
  for (at += 1; at < lines.length && !closes(lines[at]); at += 1) inside.push(lines[at].slice(Math.min(margin, indent(lines[at]))));
  into.push(scrolls(node("pre", "", node("code", "", inside.join("\n"))), words.code));
  return at + 1;
}

/** A list. What stands further in than its marks belongs to the item above: models do not count as CommonMark does. */
function list(lines, at, into, levels, depth) {
  const [, margin, first] = ITEM.exec(lines[at]);
  const numbered = first.length > 1;
  const made = node(numbered ? "ol" : "ul");
  if (numbered && parseInt(first, 10) !== 1) made.start = parseInt(first, 10);
  let item = null;
  let width = 0;
  const settle = () => {
    if (!item) return;
    const inside = [];
    const box = /^\[([ xX])\] /.exec(item[0]);
    if (box) item[0] = (box[1] === " " ? "☐ " : "☑ ") + item[0].slice(4);
    blocks(item, inside, levels, depth + 1);
    made.append(node("li", "", inside));
  };
  let blank = false;
  for (; at < lines.length; at += 1) {
    const line = lines[at];
    if (isBlank(line)) {
      blank = true;
      item.push("");
      continue;
    }
    const mark = ITEM.exec(line);
    const deep = indent(line);
    if (mark && deep < margin.length + 2 && mark[2].length > 1 === numbered && !RULE.test(line)) {
      settle();
      width = mark[0].length;
      item = [line.slice(width)];
    } else if (deep >= margin.length + 2) item.push(line.slice(Math.min(deep, width)));
    else if (!blank && !begins(line)) item.push(line.trimStart());
    else break;
    blank = false;
  }
  settle();
  into.push(made);
  return at;
}

/** The cells of a row. */
function cells(line) {
  const found = [];
  let cell = "";
  const row = line.trim();
  for (let at = row[0] === "|" ? 1 : 0; at < row.length; at += 1) {
    if (row[at] === "\\" && row[at + 1] === "|") {
      cell += "|";
      at += 1;
    } else if (row[at] === "|") {
      found.push(cell.trim());
      cell = "";
    } else cell += row[at];
  }
  if (cell.trim()) found.push(cell.trim());
  return found;
}

/** A table, if one begins here. Gives the line behind it. Cells that a row does not have are not made up: a short text stays short. */
function table(lines, at, into) {
  const sides = cells(lines[at + 1]);
  if (!sides.length || !lines[at + 1].includes("-") || !sides.every((cell) => /^:?-+:?$/.test(cell))) return 0;
  const names = cells(lines[at]);
  if (names.length !== sides.length) return 0;
  const kinds = sides.map((side) => (side.endsWith(":") ? (side.startsWith(":") ? "middle" : "right") : ""));
  const heads = names.map((name, index) => node("th", kinds[index], inline(name)));
  heads.forEach((head) => (head.scope = "col"));
  const rows = [];
  for (at += 2; at < lines.length && !isBlank(lines[at]) && !begins(lines[at]); at += 1) {
    const row = cells(lines[at]).slice(0, names.length);
    rows.push(node("tr", "", row.map((cell, index) => node("td", kinds[index], inline(cell)))));
  }
  const made = node("table", "", node("thead", "", node("tr", "", heads)), node("tbody", "", rows));
  into.push(scrolls(node("div", "wide", made), words.table));
  return at;
}

/** Where a link may lead; null where it may not. */
function target(text) {
  if (text.length > MOST_OF_ADDRESS || !URL.canParse(text)) return null;
  const url = new URL(text);
  return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.toString() : null;
}

/** Whether a text names another host than that of an address. */
function names(text, url) {
  const { protocol, hostname, pathname } = new URL(url);
  const real = protocol === "mailto:" ? pathname.split("@").at(-1).toLowerCase() : hostname;
  const host = (name) => (URL.canParse(`https://${name}`) ? new URL(`https://${name}`).hostname : name);
  return [...text.matchAll(/(?<![^\s("'<@])(?:[\p{L}\p{N}_-]+\.)+\p{L}{2,}/gu)].some(([name]) => host(name) !== real);
}

function link(url, inside) {
  const made = node("a", "", inside);
  made.setAttribute("href", url);
  made.rel = "noopener noreferrer";
  made.target = "_blank";
  made.title = url;
  // A text that looks like another address than it leads to is told apart.
  const said = made.textContent;
  if (/:\/\/|www\./.test(said) ? target(said) !== url : names(said, url)) made.append(` (${url})`);
  return made;
}

/** The nodes and texts of what stands in a line. */
function inline(text) {
  const parts = [];
  /** The marks of emphasis that are open, from the outside in; `part` is where its text stands. */
  let open = [];
  let brackets = [];
  let plainFrom = 0;
  // What is looked for ahead and not found costs this much together, so that no text costs more than its length some times over.
  let patience = 8 * text.length + MOST_OF_ADDRESS;
  const runs = new Map();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    if (!runs.has(run.length)) runs.set(run.length, { next: 0, places: [] });
    runs.get(run.length).places.push(index);
  }
  const flush = (end) => {
    if (end > plainFrom) parts.push(text.slice(plainFrom, end));
  };
  let at = 0;
  const go = (end) => (plainFrom = at = end);
  while (at < text.length) {
    const c = text[at];
    if (c === "\\" && /[!-/:-@[-`{-~\n]/.test(text[at + 1] ?? "")) {
      flush(at);
      go(at + 1);
      at += 1;
    } else if (c === "`") {
      let end = at;
      while (text[end] === "`") end += 1;
      const same = runs.get(end - at);
      while (same && same.places[same.next] < end) same.next += 1;
      const close = same?.places[same.next];
      if (close === undefined) {
        at = end;
        continue;
      }
      flush(at);
      const inside = text.slice(end, close);
      const padded = inside.length > 2 && inside.startsWith(" ") && inside.endsWith(" ") && inside.trim();
      parts.push(node("code", "", padded ? inside.slice(1, -1) : inside));
      go(close + end - at);
    } else if (c === "*" || c === "_" || c === "~") {
      let end = at;
      while (text[end] === c) end += 1;
      const run = end - at;
      const [before, behind] = [text[at - 1] ?? " ", text[end] ?? " "];
      const opens = !/\s/.test(behind) && (c !== "_" || !/[\p{L}\p{N}]/u.test(before));
      const closes = !/\s/.test(before) && (c !== "_" || !/[\p{L}\p{N}]/u.test(behind));
      const fits = c === "~" ? run === 2 : run <= 3;
      let match = -1;
      if (fits && closes) match = open.findLastIndex((mark) => mark.c === c && mark.run === run);
      if (match >= 0) {
        flush(at);
        const { part } = open[match];
        const inner = c === "~" ? "del" : run === 1 ? "em" : "strong";
        // Its own mark, which was a text until now, goes.
        const made = node(inner, "", parts.splice(part + 1));
        parts[part] = run === 3 ? node("em", "", made) : made;
        open = open.slice(0, match);
        brackets = brackets.filter((bracket) => bracket.part < part);
        go(end);
      } else if (fits && opens && open.length < MOST_OPEN) {
        flush(at);
        open.push({ c, run, part: parts.length });
        parts.push(text.slice(at, end));
        go(end);
      } else at = end;
    } else if (c === "[" && brackets.length < MOST_OPEN) {
      // An image is a link to it: nothing is loaded because a model wrote it.
      flush(text[at - 1] === "!" && at > plainFrom ? at - 1 : at);
      brackets.push({ part: parts.length, open: open.length });
      parts.push(text[at - 1] === "!" && at > plainFrom ? "![" : "[");
      go(at + 1);
    } else if (c === "]" && brackets.length) {
      const bracket = brackets.pop();
      const end = text[at + 1] === "(" ? closing(at + 2) : 0;
      const url = end ? target(text.slice(at + 2, end).trim().split(/\s/)[0].replace(/^<(.*)>$/, "$1")) : null;
      if (url) {
        flush(at);
        open = open.slice(0, bracket.open);
        parts[bracket.part] = link(url, parts.splice(bracket.part + 1));
        brackets = [];
        go(end + 1);
      } else at += 1;
    } else if (c === "h" && /^https?:\/\//.test(text.slice(at, at + 8)) && !/[\p{L}\p{N}]/u.test(text[at - 1] ?? " ") && !brackets.length) {
      let end = at;
      while (end < text.length && !/[\s<>"'`)\]|]/.test(text[end])) end += 1;
      const behind = end;
      const bare = text[at - 1] === "<" && text[end] === ">" && at > plainFrom;
      while (!bare && /[.,;:!?*_~]/.test(text[end - 1])) end -= 1;
      const url = target(text.slice(at, end));
      if (url) {
        flush(bare ? at - 1 : at);
        parts.push(link(url, text.slice(at, end)));
        go(bare ? end + 1 : end);
      } else at = behind;
    } else at += 1;
  }
  flush(text.length);
  return parts;

  /** The place of the parenthesis that closes an address. */
  function closing(from) {
    let deep = 0;
    for (let place = from; place < text.length && place - from < MOST_OF_ADDRESS && patience > 0; place += 1, patience -= 1) {
      if (text[place] === "\n") return 0;
      if (text[place] === "(") deep += 1;
      else if (text[place] === ")" && (deep -= 1) < 0) return place;
    }
    return 0;
  }
}

/** A text that is whole. */
export function rendered(text) {
  const inside = [];
  blocks(text.replace(/\r\n?/g, "\n").split("\n"), inside, [], 0);
  return node("article", "answer", inside);
}

/** A text that comes piece by piece. Only its last block is made again; what is above stays as it is, so nothing flickers. */
export class Coming {
  /** `around` gets each change of the nodes, and makes it. */
  constructor(around) {
    this.around = around;
    this.node = node("article", "answer");
    // Whoever listens to the page hears it when it is there.
    this.node.setAttribute("aria-busy", "true");
    this.rest = "";
    this.levels = [];
    this.last = [];
    this.timer = 0;
    this.pause = 30;
  }

  push(text) {
    this.rest += text;
    this.timer ||= setTimeout(() => this.draw(false), this.pause);
  }

  draw(over) {
    this.timer = 0;
    const began = performance.now();
    // The second half of a line's end may still come.
    const whole = this.rest.replace(over ? /\r\n?/g : /\r\n|\r(?!$)/g, "\n");
    // And a line of marks alone may still become anything.
    const open = whole.slice(whole.lastIndexOf("\n") + 1);
    const held = !over && open.length < 80 && /^[\s`~#>|*_=+:-]*\d{0,9}[.)]?$/.test(open) ? open.length : 0;
    const lines = whole.slice(0, whole.length - held).split("\n");
    const made = [];
    const at = blocks(lines, made, this.levels, 0);
    this.around(() => {
      this.last.forEach((old) => old.remove());
      made.forEach((one) => this.node.append(one));
    });
    this.last = made.slice(at.nodes);
    this.levels = at.levels;
    this.rest = lines.slice(at.line).join("\n") + whole.slice(whole.length - held);
    // A block that is large is made seldom: at most a tenth of the time goes into it.
    this.pause = Math.max(30, 10 * (performance.now() - began));
  }

  finish() {
    clearTimeout(this.timer);
    this.draw(true);
    this.node.removeAttribute("aria-busy");
  }
}
