// The Markdown of replies. The server renders it, and its HTML has no scripts, no styles and no images.

import { copier, node, plain, scrolls } from "/nodes.js";
import { get } from "/server.js";
import { words } from "/words.js";

/** The only way for a string to become HTML: the Content-Security-Policy allows only this Trusted Types policy. */
const policy = globalThis.trustedTypes?.createPolicy("markdown", { createHTML: (html) => html }) ?? { createHTML: (html) => html };

/** Returns the nodes of a Markdown text, or plain text if the server cannot render it. */
export async function rendered(text) {
  if (!text.trim()) return [];
  const { html } = await get("/api/markdown", { text }).catch(() => ({ html: null }));
  if (html === null) return [node("p", "as-written", plain(text))];
  const made = document.createElement("template");
  made.innerHTML = policy.createHTML(html);
  for (const code of made.content.querySelectorAll("pre")) framed(code);
  for (const table of made.content.querySelectorAll(".wide")) scrolls(table, words.table);
  for (const link of made.content.querySelectorAll("a")) {
    link.target = "_blank";
    link.title = link.getAttribute("href");
  }
  return [...made.content.children];
}

/** Adds a bar with the language and a copy button above a code block. */
function framed(code) {
  scrolls(code, words.code);
  const language = node("span", "", code.firstElementChild?.dataset.language ?? "");
  const frame = node("div", "code");
  code.replaceWith(frame);
  frame.append(node("div", "bar", language, copier(() => code.textContent, words.copy_code)), code);
}

/** A text that arrives piece by piece. The server renders the whole text each time. Unchanged blocks keep their nodes,
    so nothing flickers. */
export class StreamedText {
  /** `around` is called with each change of the nodes and must apply it. */
  constructor(around) {
    this.around = around;
    this.node = node("article", "answer");
    // Screen readers read the text when it is complete.
    this.node.setAttribute("aria-busy", "true");
    this.text = "";
    this.over = false;
    this.pause = 30;
    /** Ends the current pause. */
    this.hurry = () => {};
    this.drawing = null;
  }

  push(text) {
    this.text += text;
    this.drawing ??= this.draw();
  }

  async finish() {
    this.over = true;
    if (!this.text.trim()) return this.node.remove();
    this.hurry();
    this.drawing ??= this.draw();
    await this.drawing;
    return this.node.removeAttribute("aria-busy");
  }

  /** Renders until all of the text so far is rendered. */
  async draw() {
    let shown;
    do {
      if (!this.over) await new Promise((go) => setTimeout((this.hurry = go), this.pause));
      const began = performance.now();
      shown = this.whole();
      this.show(await rendered(shown));
      // Spend at most a tenth of the time on rendering a long text.
      this.pause = Math.max(30, 10 * (performance.now() - began));
    } while (shown !== this.whole());
    this.drawing = null;
  }

  /** Returns the text so far, without a last line that has only markup characters: its meaning is not known yet. */
  whole() {
    const last = this.text.slice(this.text.lastIndexOf("\n") + 1);
    const isOpen = !this.over && last.length < 80 && /^[\s`~#>|*_=+:-]*\d{0,9}[.)]?$/.test(last);
    return isOpen ? this.text.slice(0, this.text.length - last.length) : this.text;
  }

  show(made) {
    const old = [...this.node.children];
    let same = 0;
    while (same < made.length && old[same]?.isEqualNode(made[same])) same += 1;
    this.around(() => {
      old.slice(same).forEach((one) => one.remove());
      this.node.append(...made.slice(same));
    });
  }
}
