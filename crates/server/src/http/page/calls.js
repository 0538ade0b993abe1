// Calls of tools: their arguments, their results, and the line of a folded call.

import { change, counts } from "/diff.js";
import { button, node, plain, pre } from "/nodes.js";
import { get, why } from "/server.js";
import { language, words } from "/words.js";

/** The most characters of the arguments, and of the outcome, in the line of a folded call. */
const MOST_OF_LINE = 100;

export function fields(args) {
  return Object.entries(args ?? {}).map(([name, value]) => node("div", "", node("div", "note", plain(name)), pre(written(value), plain(name))));
}

/** Returns an argument as text. */
export function written(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 1);
}

function label(tool, args) {
  const first = Object.values(args ?? {}).find((value) => typeof value === "string") ?? "";
  return plain(`${tool} ${first.split("\n")[0].slice(0, MOST_OF_LINE)}`);
}

/** Returns a folded call; its result is added later. */
export function opened(place, tool, args) {
  const state = node("span", "badge on", words.running);
  const made = node("details", "call", node("summary", "", node("span", "name", label(tool, args)), state));
  const given = fields(args);
  if (given.length) made.append(node("p", "head", words.arguments), ...given);
  made.state = state;
  return place.add(made);
}

/** Marks a call that ended without a result. */
export function cancelled(made) {
  made.state.className = "badge";
  made.state.textContent = words.cancelled;
}

/** Matches the lines for the model that mark an output as incomplete. */
function cut(output) {
  const isMark = (line) => /^\[(TRUNCATED|TRUNCADO|\.\.\. \d)/.test(line) || line.includes(".toolfence/output/");
  return output.split("\n").filter(isMark).slice(-3);
}

/** Returns the outcome of a call in one line: how much it returned or changed, its exit status, the first line of an
    error. */
function outcome(result, answer) {
  const lines = (result.output ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
  const exit = result.exit_code ? [`${words.exit} ${result.exit_code}`] : [];
  if (result.success) {
    if (result.data?.diff) {
      const { added, removed } = counts(result.data.diff);
      return [`+${added} -${removed}`];
    }
    if (lines.length === 0) return [...exit, words.done];
    const all = result.output.replace(/\n$/, "").split("\n").length;
    return [...exit, lines.length === 1 ? lines[0] : `${all} ${words.lines_of_output}`];
  }
  // The person's own answer needs no display.
  if (result.error?.code === "denied" && answer !== undefined) return answer ? [answer] : [];
  const named = lines.find((line) => /\b(errors?|fatal|panicked|fail(ed|ures?)?|exception)\b/i.test(line)) ?? lines.at(-1);
  const message = (result.error?.message ?? "").split("\n")[0];
  return [...exit, (exit.length && named) || message].filter(Boolean);
}

/** Returns the label and the class of the badge of an unsuccessful call. Only a failure is red. */
function ending(result) {
  if (result.error?.code === "denied") return [words.refused, ""];
  if (result.error?.code === "cancelled") return [words.cancelled, ""];
  return [words.failed, "bad"];
}

/** Adds the result to a call. `answer` is the reason that the person gave for a denial: empty without a reason,
    undefined without a question. */
export function closed(made, result, answer) {
  const summary = made.querySelector("summary");
  const parts = outcome(result, answer).map((part) => node("span", "outcome", plain(part.slice(0, MOST_OF_LINE))));
  if (result.success) made.state.remove();
  else {
    const [text, kind] = ending(result);
    made.state.textContent = text;
    made.state.className = `badge ${kind}`;
  }
  for (const part of parts) summary.append(" ", part);
  if (result.execution_time_ms >= 1000) {
    const seconds = (result.execution_time_ms / 1000).toLocaleString(language, { maximumFractionDigits: 1 });
    summary.append(" ", node("span", "outcome", `${seconds} s`));
  }
  made.append(node("p", "head", words.result));
  if (result.error) made.append(node("p", ending(result)[1] || "note", plain(result.error.message)));
  const changed = result.data?.diff;
  if (changed) made.append(...change(changed, words.change, words.lines));
  const output = result.output ? pre(result.output, words.result) : null;
  if (output) made.append(output);
  if (result.truncated) {
    summary.append(node("span", "badge cut", words.cut));
    const marks = cut(result.output ?? "");
    if (marks.length) made.append(node("p", "note", plain(marks.join("\n"))));
    const id = result.data?.output_id;
    if (id && output) made.append(whole(id, output));
  }
}

/** Returns a button that replaces the shortened output with the whole output, piece by piece. */
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
