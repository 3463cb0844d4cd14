// Faults: what happened, why, what to do. Those that wait stand open, the first of them first: it is the cause.

import { make } from "./dom";
import type { Fault } from "./model";

/** Conditions that need no answer stand open this long, s; those of low priority do not. */
const RECENT_S = 15;
/** Entries below "Earlier and minor". */
const KEPT = 20;

/** Sign and word of each priority: colour is never the only mark. */
const PRIORITIES: Record<string, string> = { high: "▲ High", medium: "◆ Medium", low: "● Low" };

export class Faults {
  private shown = "";

  constructor(
    private readonly open: HTMLElement,
    private readonly earlier: HTMLDetailsElement,
    private readonly acknowledge: (id: number) => void,
  ) {}

  /**
   * Shows the faults known; `now` is the daemon's time. Without a connection none known does not mean none. Rebuilds
   * only what changed, so that focus stays.
   */
  show(faults: Fault[], now: number, connected: boolean): void {
    const waiting = faults.filter((fault) => fault.latched && !fault.acknowledged).sort((a, b) => a.id - b.id);
    const rest = faults.filter((fault) => !waiting.includes(fault)).sort((a, b) => b.id - a.id);
    const recent = rest.filter((fault) => !fault.latched && fault.priority !== "low" && now - fault.time < RECENT_S);
    const past = rest.filter((fault) => !recent.includes(fault)).slice(0, KEPT);
    const signature = JSON.stringify([waiting, recent, past, connected]);
    if (signature === this.shown) {
      this.age(now);
      return;
    }
    this.shown = signature;
    const focused = document.activeElement?.id ?? "";
    const quiet = make("p", { className: "quiet" }, connected ? "None waits." : "Not known: no connection.");
    const first = waiting.length > 1;
    this.open.replaceChildren(
      ...waiting.map((fault, index) => this.entry(fault, first && index === 0 ? "first: the cause" : "", false)),
      ...recent.map((fault) => this.entry(fault, "", false)),
      ...(waiting.length + recent.length === 0 ? [quiet] : []),
    );
    // On a narrow screen a fault that waits moves to the top.
    const card = this.open.closest<HTMLElement>(".card");
    if (card !== null) {
      card.dataset["waits"] = String(waiting.length > 0);
    }
    this.earlier.hidden = past.length === 0;
    const [summary, list] = this.earlier.children;
    if (summary !== undefined && list !== undefined) {
      summary.textContent = `Earlier and minor (${past.length})`;
      list.replaceChildren(...past.map((fault) => this.entry(fault, "", true)));
    }
    if (focused !== "" && document.activeElement?.id !== focused) {
      document.getElementById(focused)?.focus();
    }
    this.age(now);
  }

  private age(now: number): void {
    for (const when of document.querySelectorAll<HTMLElement>(".fault .when")) {
      const seconds = Math.max(0, now - Number(when.dataset["time"]));
      const text = Number.isFinite(seconds) ? ago(seconds) : "";
      if (when.textContent !== text) {
        when.textContent = text;
      }
    }
  }

  private entry(fault: Fault, remark: string, past: boolean): HTMLElement {
    const when = make("span", { className: "when" });
    when.dataset["time"] = String(fault.time);
    // Its changing text is not worth being read aloud.
    when.setAttribute("aria-live", "off");
    const sign = PRIORITIES[fault.priority] ?? fault.priority;
    const head = make(
      "div",
      { className: "head" },
      make("span", {}, sign),
      make("span", {}, `${fault.code} ${fault.name}`),
      when,
    );
    const entry = make("div", { className: `fault ${past ? "past" : fault.priority}` }, head);
    if (remark !== "") {
      entry.append(make("p", { className: "quiet" }, remark));
    }
    entry.append(make("p", { className: "cause" }, sentence(fault.cause)));
    if (fault.remedy !== "") {
      entry.append(make("p", { className: "remedy" }, make("b", {}, "What to do: "), sentence(fault.remedy)));
    }
    if (fault.data !== "") {
      entry.append(make("p", { className: "quiet path" }, `Data: ${fault.data}`));
    }
    if (fault.latched && !fault.acknowledged) {
      const button = make("button", { type: "button", className: "control", id: `ack-${fault.id}` }, "Acknowledge");
      button.onclick = () => this.acknowledge(fault.id);
      entry.append(button);
    } else if (fault.latched) {
      entry.append(make("p", { className: "quiet" }, "Acknowledged."));
    }
    return entry;
  }
}

/** With a capital and a full stop, as the daemon's texts come both ways. */
const sentence = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

function ago(seconds: number): string {
  if (seconds < 90) {
    return `${Math.round(seconds)} s ago`;
  }
  return seconds < 5400 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3600)} h ago`;
}
