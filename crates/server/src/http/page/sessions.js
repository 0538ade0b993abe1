// The list of recorded conversations: a column in a wide window, a dialog in a narrow one.

import { at, button, node, plain } from "/nodes.js";
import { get, why } from "/server.js";
import { language, words } from "/words.js";

/** The number of conversations in one request. */
const STRETCH = 500;

const wide = matchMedia("(min-width: 64rem)");

/** The open conversation, and the function that opens another one. */
let current = "new";
let choose = () => {};
/** The number of the newest request. Late answers to earlier requests are dropped. */
let request = 0;

/** Formats a time as the time since then, or as an ISO 8601 date. */
export function ago(iso) {
  const date = new Date(iso);
  const seconds = Math.max(0, (Date.now() - date) / 1000);
  if (seconds > 6 * 86400) {
    return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
  }
  const [unit, size] = [["day", 86400], ["hour", 3600]].find(([, size]) => seconds >= size) ?? ["minute", 60];
  return new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(-Math.floor(seconds / size), unit);
}

export function time(iso) {
  const made = node("time", "when", ago(iso));
  made.dateTime = iso;
  made.title = new Date(iso).toLocaleString(navigator.language, { dateStyle: "medium", timeStyle: "short" });
  return made;
}

function row(session) {
  const made = button("", "", () => choose(session));
  made.dataset.id = session.id;
  made.append(node("span", "title", plain(session.title) || words.untitled), time(session.changed));
  return node("li", "", made);
}

/** Marks the conversation that is open. */
export function mark(id) {
  current = id;
  for (const one of at("list").querySelectorAll("button[data-id]")) {
    if (one.dataset.id === current) one.setAttribute("aria-current", "true");
    else one.removeAttribute("aria-current");
  }
}

/** Hides the rows without the search words. */
function filter() {
  const wanted = at("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const one of at("list").querySelectorAll("li:has([data-id])")) {
    const text = one.querySelector(".title").textContent.toLowerCase();
    one.hidden = !wanted.every((word) => text.includes(word));
    found += one.hidden ? 0 : 1;
  }
  at("list").querySelector(".none")?.remove();
  if (found === 0) at("list").append(node("li", "none note", wanted.length ? words.no_match : words.none));
}

/** Reads the list again. The focus stays on its row. */
export async function refresh() {
  const mine = (request += 1);
  const list = at("list");
  const more = async (offset, place) => {
    const { sessions, total } = await get(`/api/sessions?offset=${offset}&limit=${STRETCH}`);
    if (mine !== request) return;
    const rows = sessions.map(row);
    const next = offset + sessions.length;
    if (sessions.length && next < total) {
      const further = node("li", "", button(words.further, "", () => {
        further.remove();
        more(next, (added) => list.append(...added)).catch((error) => list.append(node("li", "bad", why(error))));
      }));
      rows.push(further);
    }
    place(rows);
    mark(current);
    filter();
  };
  try {
    await more(0, (rows) => {
      const focused = list.contains(document.activeElement) ? document.activeElement.dataset.id : undefined;
      list.replaceChildren(...rows);
      if (focused) list.querySelector(`[data-id="${focused}"]`)?.focus();
    });
  } catch (error) {
    if (mine === request) list.replaceChildren(node("li", "bad", why(error)));
  }
}

/** Reads the list again if it is visible. */
export function changed() {
  if (wide.matches && !at("side").hidden) refresh();
}

/** Returns the conversation that was used last. */
export async function newest() {
  const known = await get("/api/sessions?limit=1").catch(() => ({ recording: false }));
  return { recorded: known.recording !== false, readable: known.total !== undefined, session: known.sessions?.[0] };
}

/** Starts the list. `opens` is called with the chosen conversation. `readable`: whether there are recorded
    conversations. */
export function listSessions(readable, opens) {
  choose = (session) => {
    if (opens(session)) at("sessions").close();
  };
  at("past").disabled = !readable;
  at("side").hidden = !readable;
  document.body.classList.toggle("alone", !readable);
  const settle = () => {
    at(wide.matches ? "side" : "sessions-body").append(at("conversations"));
    if (wide.matches) at("sessions").close();
    changed();
  };
  wide.addEventListener("change", settle);
  settle();
  at("find").placeholder = words.find;
  at("find").addEventListener("input", filter);
  at("past").addEventListener("click", async () => {
    await refresh();
    if (!at("sessions").open && !wide.matches) at("sessions").showModal();
  });
}
