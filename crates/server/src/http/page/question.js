// Questions about calls, and their answers.

import { fields, written } from "/calls.js";
import { change } from "/diff.js";
import { at, button, node, plain } from "/nodes.js";
import { ask, why } from "/server.js";
import { words } from "/words.js";

/** Milliseconds before a question accepts keys: a person who is typing must not answer by accident. */
const CALM = 700;

/** Returns the title of a question, and the line below it. */
function texts(asked) {
  const files = (asked.targets ?? []).map((target) => target.link ? `${target.name} (${target.link})` : target.name).join(", ");
  // About a command that has run, the reason is the question: "`cargo fmt` changed 3 files. Keep the changes?"
  if (asked.about !== "call") return [asked.why, []];
  const isUsual = asked.rule === "write" && files;
  if (isUsual) return [`${words.asks_change} ${files}?`, []];
  const rest = [node("p", "", plain(asked.why))];
  if (files) rest.push(node("p", "note", plain(`${words.files}: ${files}`)));
  return [`${words.asks} ${asked.tool}`, rest];
}

/** Returns the diff or the arguments of a call, and the rules that further answers would allow. */
function content(asked) {
  const details = () => node("details", "", node("summary", "", words.arguments), fields(asked.args));
  const made = asked.diff ? [...change(asked.diff, words.change, words.lines), details()] : fields(asked.args);
  if (asked.always.length) made.push(node("p", "note", plain(`${words.always}: ${asked.always.join("; ")}`)));
  if (asked.project) made.push(node("p", "note", `${words.project}: ${words.project_means}`));
  return made;
}

/** Returns fields for editing the arguments. `send` is called with the arguments; `leave` closes the fields. */
function editor(asked, send, leave) {
  const inputs = Object.entries(asked.args).map(([name, value]) => {
    const input = node("textarea");
    input.value = written(value);
    input.rows = Math.min(10, input.value.split("\n").length);
    input.ariaLabel = name;
    return { name, input, isText: typeof value === "string" };
  });
  const submit = () => {
    const args = {};
    for (const { name, input, isText } of inputs) {
      try {
        args[name] = isText ? input.value : JSON.parse(input.value);
        input.setCustomValidity("");
      } catch {
        input.setCustomValidity(words.no_json);
        return input.reportValidity();
      }
    }
    return send(args);
  };
  const labelled = inputs.map(({ name, input }) => node("label", "", plain(name), input));
  return node("div", "edit", labelled, node("div", "row", button(words.run_edited, "yes", submit), button(words.leave, "", leave)));
}

/** Shows a question and sends its answer to the server. `answered` is called with the reason of a denial. The question
    gets the focus unless the person is typing, and no button of it does. */
export function question(place, asked, answered) {
  const choice = words.choices[asked.about];
  const [title, rest] = texts(asked);
  const made = node("div", "question", node("h2", "", plain(title)), rest);
  made.tabIndex = -1;
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", plain(title));
  const shown = node("div", "", content(asked));
  made.append(shown);

  const answer = async (body) => {
    const inside = [...made.querySelectorAll("button, input, textarea")];
    const enable = (enabled) => inside.forEach((control) => (control.disabled = !enabled));
    enable(false);
    try {
      const response = await ask(`/api/approvals/${asked.approval}`, body);
      if (!response.ok) place.say((await response.json()).message, "bad");
      // The server refused this answer and still waits for another one.
      if (response.status === 400) return enable(true);
      const said = body.decision === "deny" ? choice.refused : body.decision === "approve" ? choice.allowed : "";
      if (response.ok && body.decision === "deny") answered(body.reason ?? "");
      // The call itself shows whether it ran or was denied.
      if (response.ok && said) place.say([said, body.reason].filter(Boolean).join(" "));
      made.remove();
      at("prompt").focus();
    } catch (error) {
      // The answer did not arrive, so the question stays.
      place.say(why(error), "bad");
      enable(true);
    }
    return undefined;
  };

  const reason = node("input");
  reason.id = `why-${asked.approval}`;
  const label = node("label", "", words.why);
  label.htmlFor = reason.id;
  const because = node("div", "because", label, reason);
  because.hidden = true;
  const deny = () => answer(reason.value ? { decision: "deny", reason: reason.value } : { decision: "deny" });
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      deny();
    }
  });

  const yes = keyed(button(choice.yes, "yes", () => answer({ decision: "approve" })), words.yes_key);
  const no = keyed(button(choice.no, "no", deny), words.no_key);
  const more = node("div", "row more");
  if (asked.about === "call" && Object.keys(asked.args).length) more.append(button(words.edit, "", () => edit()));
  const explain = button(words.because, "", () => {
    because.hidden = false;
    explain.hidden = true;
    reason.focus();
    place.reveal(because);
  });
  more.append(explain);
  if (asked.always.length) more.append(button(words.always, "", () => answer({ decision: "approve", always: true })));
  if (asked.project) more.append(button(words.project, "", () => answer({ decision: "approve", always: "project" })));
  const answers = node("div", "answers", node("div", "row", yes, no), more);
  const edit = () => {
    const leave = () => {
      shown.replaceChildren(...content(asked));
      answers.hidden = false;
      made.focus();
    };
    shown.replaceChildren(editor(asked, (args) => answer({ decision: "edit", args }), leave));
    answers.hidden = because.hidden = true;
    explain.hidden = false;
    shown.querySelector("textarea").focus();
  };
  made.append(because, answers);
  place.add(made);
  const isTyping = document.activeElement === at("prompt") && at("prompt").value;
  if (place.isShown && !isTyping) made.focus({ preventScroll: true });
  place.reveal(made);
  setTimeout(() => made.classList.add("takes-keys"), CALM);
  return made;
}

function keyed(made, key) {
  made.dataset.key = key;
  made.setAttribute("aria-keyshortcuts", key);
  return made;
}

/** Handles the keys for yes and no outside of text fields. */
export function listenForKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat || document.querySelector("dialog[open]")) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
    const buttons = document.querySelectorAll("#log .question.takes-keys .answers:not([hidden]) [data-key]:enabled");
    const pressed = [...buttons].find((one) => one.dataset.key === event.key.toLowerCase());
    if (!pressed) return;
    event.preventDefault();
    pressed.click();
  });
}
