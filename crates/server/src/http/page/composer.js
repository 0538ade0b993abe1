// The field of the prompt: it grows with its text, recalls earlier prompts, and completes names of files.

import { at, node, plain } from "/nodes.js";
import { get } from "/server.js";

/** The most prompts that a tab remembers. */
const MOST_RECALLED = 50;
/** The most names in the list of completions. */
const MOST_NAMES = 8;

/** Matches small windows, as in `page.css`. */
const compact = matchMedia("(max-width: 30rem), (max-height: 30rem)");

/** Gives the prompt as many rows as it has lines, but leaves room for the conversation. */
export function fit() {
  const prompt = at("prompt");
  const most = compact.matches ? Math.max(1, Math.min(6, Math.floor(innerHeight / 100))) : 10;
  prompt.rows = 1;
  while (prompt.rows < most && prompt.scrollHeight > prompt.clientHeight) prompt.rows += 1;
}

export function setPrompt(text) {
  at("prompt").value = text;
  at("prompt").setSelectionRange(text.length, text.length);
  fit();
}

// Earlier prompts -----------------------------------------------------------------------------------------------------------------

const recalled = JSON.parse(sessionStorage.getItem("prompts") ?? "[]");
/** The text that an earlier prompt replaced, and how many prompts back that prompt is. */
let draft = "";
let back = 0;

function remember(prompt) {
  recalled.push(prompt);
  recalled.splice(0, recalled.length - MOST_RECALLED);
  sessionStorage.setItem("prompts", JSON.stringify(recalled));
  back = 0;
}

/** Replaces the text with the prompt that is this many steps further back. */
function recall(steps) {
  // The prompts of this tab, then those of the conversation.
  const shown = [...document.querySelectorAll("#log .user")].map((one) => one.textContent);
  const all = [...new Set([...recalled.filter((prompt) => !shown.includes(prompt)), ...shown])];
  const next = back + steps;
  if (next < 0 || next > all.length) return;
  if (back === 0) draft = at("prompt").value;
  setPrompt(next === 0 ? draft : all[all.length - next]);
  back = next;
}

/** Handles Up in the first line and Down in the last one. Lines may be wrapped, so the cursor is at the edge only if
    the key did not move it. */
function onArrow(event) {
  const prompt = at("prompt");
  const { selectionStart: start, selectionEnd: end, value } = prompt;
  if (start !== end || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
  const up = event.key === "ArrowUp";
  if (up ? value.slice(0, start).includes("\n") : value.slice(start).includes("\n")) return;
  setTimeout(() => {
    const edge = up ? 0 : value.length;
    if (prompt.value === value && [start, edge].includes(prompt.selectionStart)) recall(up ? 1 : -1);
  });
}

// Names of files ------------------------------------------------------------------------------------------------------------------

/** The number of the newest lookup. Late answers to earlier lookups are dropped. */
let lookup = 0;

/** Returns the start of the word `@..` before the cursor, and the name so far. */
function named() {
  const prompt = at("prompt");
  const before = prompt.value.slice(0, prompt.selectionStart);
  const found = /(?:^|\s)@([^\s@]*)$/.exec(before);
  return found && { from: before.length - found[1].length - 1, prefix: found[1] };
}

function close() {
  lookup += 1;
  at("names").hidden = true;
  at("names").replaceChildren();
  at("prompt").removeAttribute("aria-activedescendant");
}

function isOpen() {
  return !at("names").hidden;
}

/** Marks the option that Enter selects. */
function mark(option) {
  for (const one of at("names").children) one.setAttribute("aria-selected", one === option);
  option.scrollIntoView({ block: "nearest" });
  at("prompt").setAttribute("aria-activedescendant", option.id);
}

async function complete() {
  const word = named();
  if (!word) return close();
  const mine = (lookup += 1);
  const { files } = await get(`/api/files?prefix=${encodeURIComponent(word.prefix)}`).catch(() => ({ files: [] }));
  if (mine !== lookup) return undefined;
  if (files.length === 0) return close();
  const options = files.slice(0, MOST_NAMES).map((file, index) => {
    const option = node("li", "", plain(file));
    option.id = `name-${index}`;
    option.dataset.file = file;
    option.setAttribute("role", "option");
    // Keep the focus in the prompt.
    option.addEventListener("mousedown", (event) => {
      event.preventDefault();
      take(option);
    });
    return option;
  });
  at("names").replaceChildren(...options);
  at("names").hidden = false;
  return mark(options[0]);
}

/** Inserts a name into the prompt. A folder keeps its `@`, so that its files can be completed; a file does not. */
function take(option) {
  const word = named();
  const { file } = option.dataset;
  close();
  if (!word) return;
  const prompt = at("prompt");
  prompt.setRangeText(file.endsWith("/") ? `@${file}` : `${file} `, word.from, prompt.selectionStart, "end");
  // `setRangeText` fires no event. This one fits the field, and completes the files of a folder.
  prompt.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Handles a key for the list of names. Returns true if it was handled. */
function onNames(event) {
  if (!isOpen() || event.isComposing) return false;
  const options = [...at("names").children];
  const current = options.findIndex((option) => option.ariaSelected === "true");
  if (event.key === "ArrowDown") mark(options[(current + 1) % options.length]);
  else if (event.key === "ArrowUp") mark(options.at(current - 1));
  else if ((event.key === "Enter" && !event.shiftKey) || event.key === "Tab") take(options[current]);
  else if (event.key === "Escape") close();
  else return false;
  event.preventDefault();
  event.stopPropagation();
  return true;
}

// The form ------------------------------------------------------------------------------------------------------------------------

/** Starts the form. `submit` is called with the prompt if Send is enabled. */
export function compose(submit) {
  const prompt = at("prompt");
  prompt.placeholder = prompt.ariaLabel;
  prompt.addEventListener("input", () => {
    fit();
    complete();
    back = 0;
  });
  prompt.addEventListener("blur", close);
  addEventListener("resize", fit);
  at("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = prompt.value;
    if (!text.trim() || at("send").disabled) return;
    remember(text);
    setPrompt("");
    submit(text);
  });
  prompt.addEventListener("keydown", (event) => {
    if (onNames(event)) return;
    if (event.key === "ArrowUp" || event.key === "ArrowDown") onArrow(event);
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      at("ask").requestSubmit();
    }
  });
  at("more").addEventListener("click", () => {
    const open = at("ask").classList.toggle("open");
    at("more").setAttribute("aria-expanded", open);
  });
  // The options may be folded, so the button shows that something was chosen.
  at("options").addEventListener("change", () => {
    const persona = [...at("persona").options].findIndex((one) => one.defaultSelected);
    at("more").classList.toggle("set", at("tool").value !== "auto" || at("persona").selectedIndex !== persona);
  });
  // Keep the text if the page is reloaded by mistake.
  setPrompt(sessionStorage.getItem("prompt") ?? "");
  addEventListener("pagehide", () => sessionStorage.setItem("prompt", prompt.value));
}
