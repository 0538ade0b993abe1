// Unified diffs: a heading for each file, line numbers, and marks on changed words.

import { button, node, plain, scrolls } from "/nodes.js";
import { words } from "/words.js";

/** The number of diff lines that are shown at first, and the number of further lines that do not need a button. */
const FIRST = 60;
const FEW = 8;
/** The most characters of a line that are compared for changed words. */
const MOST_OF_LINE = 1000;

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Returns the name of the file in a line such as `+++ b/src/main.rs`; empty for /dev/null. */
function fileName(line) {
  const name = line.slice(4);
  return name === "/dev/null" ? "" : name.replace(/^("?)[ab]\//, "$1");
}

/** Returns the rows of a diff: `{kind, text, number}`. Only the counts of a hunk distinguish a removed line `-- a` from
    a file header. */
function rows(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  const all = [];
  const left = { old: 0, new: 0 };
  const number = { old: 0, new: 0 };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    const hunk = HUNK.exec(line);
    if (left.old > 0 || left.new > 0) {
      const kind = line[0] === "+" ? "added" : line[0] === "-" ? "removed" : line[0] === "\\" ? "hunk" : "same";
      const row = { kind, text: line };
      if (kind === "removed" || kind === "same") {
        row.number = number.old;
        number.old += 1;
        left.old -= 1;
      }
      if (kind === "added" || kind === "same") {
        row.number = number.new;
        number.new += 1;
        left.new -= 1;
      }
      all.push(row);
    } else if (hunk) {
      number.old = Number(hunk[1]);
      number.new = Number(hunk[3]);
      left.old = Number(hunk[2] ?? 1);
      left.new = Number(hunk[4] ?? 1);
      // Line numbers replace this line, and a gap separates two hunks.
      if (all.at(-1)?.kind !== "file") all.push({ kind: "hunk", text: "..." });
    } else if (line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ")) {
      const [before, after] = [fileName(line), fileName(lines[at + 1])];
      const state = !before ? ` (${words.new_file})` : !after ? ` (${words.removed_file})` : "";
      all.push({ kind: "file", text: (after || before) + state });
      at += 1;
    } else all.push({ kind: line.startsWith("\\") ? "hunk" : "", text: line });
  }
  return all;
}

/** Sets `parts` of a removed and an added line: the text before the changed words, these words, and the text after
    them. */
function compare(removed, added) {
  const [a, b] = [removed, added].map((row) => [...row.text.slice(1, MOST_OF_LINE)]);
  const shorter = Math.min(a.length, b.length);
  const isWord = (c) => c !== undefined && /[\p{L}\p{N}_]/u.test(c);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start += 1;
  // Extend the marks to whole words.
  while (start > 0 && isWord(a[start - 1]) && (isWord(a[start]) || isWord(b[start]))) start -= 1;
  let end = 0;
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  while (end > 0 && isWord(a.at(-end)) && (isWord(a.at(-1 - end)) || isWord(b.at(-1 - end)))) end -= 1;
  const shared = [...a.slice(0, start), ...a.slice(a.length - end)].join("").trim();
  // Do not mark words in lines that have little in common.
  if (shared.length * 3 < Math.max(a.length, b.length) || removed.text.length > MOST_OF_LINE || added.text.length > MOST_OF_LINE) return;
  for (const [row, all] of [[removed, a], [added, b]]) {
    const parts = [all.slice(0, start), all.slice(start, all.length - end), all.slice(all.length - end)];
    row.parts = parts.map((part) => part.join(""));
  }
}

/** Compares the lines of each change that removes as many lines as it adds. */
function compareAll(all) {
  for (let at = 0; at < all.length; ) {
    let [middle, end] = [at, at];
    while (all[middle]?.kind === "removed") middle += 1;
    end = middle;
    while (all[end]?.kind === "added") end += 1;
    const count = middle - at;
    if (count > 0 && end - middle === count) {
      for (let line = 0; line < count; line += 1) compare(all[at + line], all[middle + line]);
    }
    at = Math.max(end, at + 1);
  }
}

/** Returns how many lines a diff adds and removes. */
export function counts(text) {
  const all = rows(text);
  const of = (kind) => all.filter((row) => row.kind === kind).length;
  return { added: of("added"), removed: of("removed") };
}

export function diff(text, name) {
  const made = scrolls(node("pre", "diff"), name);
  const all = rows(text);
  compareAll(all);
  for (const row of all) {
    const [before, changed, after] = row.parts ?? [];
    const inside = row.parts && changed
      ? [row.text[0] + plain(before), node("mark", "", plain(changed)), plain(after)]
      : [plain(row.text)];
    const line = node("span", row.kind, inside, "\n");
    if (row.number !== undefined) line.dataset.number = row.number;
    made.append(line);
  }
  return made;
}

/** Returns a diff, folded if it is long: a button with this text and the number of lines unfolds it. Lines before the
    first file of the diff, such as removals, are never folded. */
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
