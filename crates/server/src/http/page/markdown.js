// The Markdown of replies. The server renders it, and its HTML has no scripts, no styles and no images.

import { copier, node, plain, scrolls } from "/nodes.js";
import { get } from "/server.js";
import { words } from "/words.js";

/** No other string of the page becomes HTML: its policy allows this name alone. */
const policy = globalThis.trustedTypes?.createPolicy("markdown", { createHTML: (html) => html }) ?? { createHTML: (html) => html };

/** The nodes of a Markdown text; its words where the server cannot render them. */
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

/** Puts a code block below a bar with its language and a button that copies it. */
function framed(code) {
  scrolls(code, words.code);
  const language = node("span", "", code.firstElementChild?.dataset.language ?? "");
  const frame = node("div", "code");
  code.replaceWith(frame);
  frame.append(node("div", "bar", language, copier(() => code.textContent, words.copy_code)), code);
}

/** A text that arrives piece by piece. The server renders all of it again and again. Blocks that stay the same keep their nodes, so
    nothing flickers. */
export class Coming {
  /** `around` gets each change of the nodes, and makes it. */
  constructor(around) {
    this.around = around;
    this.node = node("article", "answer");
    // A screen reader reads it when it is complete.
    this.node.setAttribute("aria-busy", "true");
    this.text = "";
    this.over = false;
    this.pause = 30;
    /** Ends the pause under way. */
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

  /** Draws until all of the text so far is drawn. */
  async draw() {
    let shown;
    do {
      if (!this.over) await new Promise((go) => setTimeout((this.hurry = go), this.pause));
      const began = performance.now();
      shown = this.whole();
      this.show(await rendered(shown));
      // At most a tenth of the time is spent on a long text.
      this.pause = Math.max(30, 10 * (performance.now() - began));
    } while (shown !== this.whole());
    this.drawing = null;
  }

  /** The text so far, without a last line of marks alone: such a line may still become anything. */
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
