/** The operator's page: asks this service every two seconds how it does, and shows the last five minutes. The token stays in memory. */

import { span } from "../time.js";
import { History } from "./history.js";
import type { Status } from "./status.js";
import { show } from "./view.js";

const INTERVAL_MS = 2000;
/** A service that takes longer does not answer. */
const PATIENCE_MS = 5000;

const history = new History();
const form = find("enter", HTMLFormElement);
const field = find("token", HTMLInputElement);
const refused = find("refused", HTMLElement);
const figures = find("figures", HTMLElement);
const lost = find("lost", HTMLElement);
const wants = find("wants", HTMLElement);
const lostText = find("lost-text", HTMLElement);
const pause = find("pause", HTMLButtonElement);

let token = "";
let paused = false;
/** When the last answer came, by this browser's clock. */
let answered = 0;

function find<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}

/** What became of a question. */
type Outcome = { readonly status: Status } | { readonly refused: string } | { readonly silent: string };

async function ask(): Promise<Outcome> {
  const headers = { authorization: `Bearer ${token}` };
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answer = await fetch("/v1/status", { headers, signal, credentials: "omit", cache: "no-store" });
    if (answer.status === 401 || answer.status === 403) {
      return { refused: "The service does not take this token. The admin token is in the file admin.token of the data directory." };
    }
    if (!answer.ok) return { silent: `it answered with status ${answer.status}` };
    return { status: (await answer.json()) as Status };
  } catch (error) {
    const late = error instanceof DOMException && error.name === "TimeoutError";
    return { silent: late ? `no answer within ${PATIENCE_MS / 1000} s` : "it cannot be reached" };
  }
}

function take(outcome: Outcome): void {
  if ("refused" in outcome) return leave(outcome.refused);
  if ("silent" in outcome) return sayLost(outcome.silent);
  answered = Date.now();
  lost.hidden = true;
  wants.hidden = false;
  figures.classList.remove("old");
  history.add(outcome.status);
  form.hidden = true;
  figures.hidden = false;
  show(history, (id) => find(id, HTMLElement));
  const at = new Date(answered).toTimeString().slice(0, 8);
  find("state", HTMLElement).textContent = outcome.status.ready ? `Takes logins. Last answer at ${at}.` : `Takes no logins. Last answer at ${at}.`;
  document.title = `${title(outcome.status)} – Trefoil`;
}

function title({ ready, attention }: Status): string {
  if (!ready) return "Takes no logins";
  return attention.length === 0 ? "All well" : `${attention.length} to look at`;
}

/** Back to the form: the token is of no use. */
function leave(why: string): void {
  token = "";
  refused.textContent = why;
  form.hidden = false;
  figures.hidden = true;
  field.focus();
}

function sayLost(why: string): void {
  document.title = "Does not answer – Trefoil";
  if (answered === 0) {
    refused.textContent = `The service does not answer: ${why}. See whether it runs, then try again.`;
    token = "";
    return;
  }
  const [at, ago] = [new Date(answered).toTimeString().slice(0, 8), span((Date.now() - answered) / 1000)];
  lostText.textContent = `Its last answer came at ${at}, ${ago} ago; since then ${why}. Everything below is from then.`;
  lost.hidden = false;
  // What wanted attention then is not what does now.
  wants.hidden = true;
  find("state", HTMLElement).textContent = "Not known: the service does not answer.";
  figures.classList.add("old");
}

async function watch(): Promise<void> {
  if (token !== "" && !paused) take(await ask());
  if (token !== "") setTimeout(() => void watch(), INTERVAL_MS);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const given = field.value.trim();
  field.value = "";
  refused.textContent = given === "" ? "Enter the admin token." : "";
  if (given === "" || token !== "") return;
  token = given;
  void watch();
});

pause.addEventListener("click", () => {
  paused = !paused;
  pause.setAttribute("aria-pressed", `${paused}`);
  pause.textContent = paused ? "Go on" : "Pause";
});
