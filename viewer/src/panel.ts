// The daemon's parameters, as OSCQuery lists them: one row each, with what was accepted and what was refused.

import { digits, make, say, short } from "./dom";
import { float, type Argument } from "./osc";

/** Sends a value; false when there is no connection. */
export type Send = (address: string, value: Argument) => boolean;
type Value = number | string | boolean;

/** A node of the OSCQuery tree, as far as it is used here. */
interface Node {
  FULL_PATH: string;
  CONTENTS?: Record<string, Node>;
  ACCESS?: number;
  TYPE?: string;
  VALUE?: (Value | null)[];
  RANGE?: ({ MIN?: number; MAX?: number; VALS?: Value[] } | null)[];
  UNIT?: (string | null)[];
  DESCRIPTION?: string;
  TAGS?: string[];
}

const STIFFNESS = "/hapticd/coupling/stiffness";
const SCALES = ["/hapticd/scale/force", "/hapticd/scale/motion"];
/** What is used most stands first; what is not listed follows, as the daemon lists it. */
const ORDER = ["coupling/stiffness", "coupling/damping", "coupling", "safety", "scale", "material", "operator"];
/** While a slider is dragged, values go out at most this often, ms. */
const DRAG_MS = 60;

/** One parameter on the page. */
interface Row {
  element: HTMLElement;
  accept(value: Value): void;
  refuse(text: string): void;
}

export class Panel {
  private rows = new Map<string, Row>();
  private readonly values = new Map<string, Value>();
  private mark: { element: HTMLElement; note: HTMLElement; least: number; most: number } | undefined;
  /** Largest stiffness in the hand at which the device is stable, N/m. */
  private stable = NaN;

  constructor(
    private readonly place: HTMLElement,
    private readonly send: Send,
  ) {}

  /** Asks for the tree and builds the rows anew. */
  async load(): Promise<void> {
    const answer = await fetch("/oscquery/hapticd", { cache: "no-cache" });
    if (!answer.ok) {
      throw new Error(`the daemon answered ${answer.status} to a question for its parameters`);
    }
    this.build((await answer.json()) as Node);
  }

  private build(tree: Node): void {
    const focused = document.activeElement?.id;
    this.rows.clear();
    this.mark = undefined;
    this.place.replaceChildren();
    let group = "";
    for (const node of sorted(parameters(tree))) {
      const [, , heading = ""] = node.FULL_PATH.split("/");
      if (heading !== group) {
        group = heading;
        this.place.append(make("h3", {}, group));
      }
      const row = this.row(node);
      this.rows.set(node.FULL_PATH, row);
      this.place.append(row.element);
      const value = this.values.get(node.FULL_PATH) ?? node.VALUE?.[0];
      if (value !== null && value !== undefined) {
        row.accept(value);
      }
    }
    if (this.rows.size === 0) {
      this.place.append(make("p", { className: "quiet" }, "This scene has nothing to set."));
    }
    if (focused !== undefined && focused !== "") {
      document.getElementById(focused)?.focus();
    }
  }

  /** What was known is of another scene or connection. */
  forget(): void {
    this.values.clear();
  }

  /** A parameter has this value now. */
  accept(address: string, value: Value): void {
    this.values.set(address, value);
    this.rows.get(address)?.accept(value);
    if (address === STIFFNESS || SCALES.includes(address)) {
      this.drawStable();
    }
  }

  /** A parameter was not set; true when it is one of this panel. */
  refuse(address: string, text: string): boolean {
    this.rows.get(address)?.refuse(text);
    return this.rows.has(address);
  }

  setStable(stiffness: number): void {
    this.stable = stiffness;
    this.drawStable();
  }

  /** The device's limit holds in the hand; the slider is in the scene's own measure. */
  private drawStable(): void {
    if (this.mark === undefined || !(this.stable > 0)) {
      return;
    }
    const scale = SCALES.reduce((product, address) => product * Number(this.values.get(address) ?? 1), 1);
    const limit = this.stable / scale;
    const { element, note, least, most } = this.mark;
    const share = (limit - least) / (most - least);
    element.hidden = !(share >= 0 && share <= 1);
    element.style.setProperty("--share", String(share));
    const over = Number(this.values.get(STIFFNESS)) > limit;
    note.dataset["over"] = String(over);
    say(note, `${over ? "Above what the device holds stable" : "The device is stable up to"}: ${short(limit)} N/m`);
  }

  private row(node: Node): Row {
    const address = node.FULL_PATH;
    const id = `set${address.replaceAll(/[^a-z0-9]+/gi, "-")}`;
    const unit = node.UNIT?.[0] ?? "";
    const range = node.RANGE?.[0] ?? {};
    const echo = make("output", { className: "echo" });
    echo.htmlFor.add(id);
    const refused = make("p", { className: "refused", hidden: true });
    refused.setAttribute("role", "alert");
    const label = make("label", { htmlFor: id, title: node.DESCRIPTION ?? "" }, title(address));
    const element = make("div", { className: "row" }, label, echo);
    const put = (value: Argument): void => {
      refused.hidden = true;
      echo.dataset["waits"] = "true";
      if (!this.send(address, value)) {
        refuse("Not sent: no connection.");
      }
    };
    const show = this.input(node, id, element, put);
    let accepted: Value | undefined;
    const accept = (value: Value): void => {
      accepted = value;
      echo.dataset["waits"] = "false";
      refused.hidden = true;
      say(
        echo,
        range.VALS?.includes(true) === true
          ? value
            ? "yes"
            : "no"
          : `${typeof value === "number" ? short(value) : value} ${unit}`.trim(),
      );
      show(value);
    };
    const refuse = (text: string): void => {
      echo.dataset["waits"] = "false";
      refused.hidden = false;
      say(refused, text);
      if (accepted !== undefined) {
        show(accepted, true);
      }
    };
    element.append(refused);
    return { element, accept, refuse };
  }

  /** Puts the right kind of control into a row; gives back how to show a value in it. */
  private input(
    node: Node,
    id: string,
    row: HTMLElement,
    put: (value: Argument) => void,
  ): (value: Value, force?: boolean) => void {
    const range = node.RANGE?.[0] ?? {};
    if (node.TYPE === "T" || node.TYPE === "F") {
      const box = make("input", { id, type: "checkbox" });
      box.onchange = () => put(box.checked ? 1 : 0);
      row.append(box);
      return (value) => (box.checked = Boolean(value));
    }
    if (range.VALS !== undefined) {
      const list = make("select", { id }, ...range.VALS.map((value) => make("option", {}, String(value))));
      list.onchange = () => put(list.value);
      row.append(list);
      return (value) => (list.value = String(value));
    }
    if (node.TYPE === "s") {
      const text = make("input", { id, type: "text" });
      text.onchange = () => put(text.value);
      row.append(text);
      return (value) => (text.value = String(value));
    }
    return this.numbers(node, id, row, put);
  }

  private numbers(
    node: Node,
    id: string,
    row: HTMLElement,
    put: (value: Argument) => void,
  ): (value: Value, force?: boolean) => void {
    const whole = node.TYPE === "i";
    const { MIN: least, MAX: most } = node.RANGE?.[0] ?? {};
    const wrap = (value: number): Argument => (whole ? Math.round(value) : float(value));
    const entry = make("input", { id, type: "number", step: "any", inputMode: "decimal" });
    entry.onchange = () => entry.value !== "" && put(wrap(entry.valueAsNumber));
    if (least === undefined || most === undefined || whole) {
      row.append(entry);
      return (value, force) => (force || document.activeElement !== entry) && (entry.value = short(Number(value), 6));
    }
    const name = `${title(node.FULL_PATH)}, slider`;
    const slider = make("input", {
      type: "range",
      id: `${id}-slider`,
      min: String(least),
      max: String(most),
      step: String(step(most - least)),
    });
    slider.setAttribute("aria-label", name);
    const track = make("div", { className: "track" }, slider);
    let waits: ReturnType<typeof setTimeout> | undefined;
    const flush = (): void => {
      clearTimeout(waits);
      waits = undefined;
      put(wrap(slider.valueAsNumber));
    };
    slider.oninput = () => {
      entry.value = short(slider.valueAsNumber, 6);
      waits ??= setTimeout(flush, DRAG_MS);
    };
    slider.onchange = flush;
    slider.title = `${short(least)} to ${short(most)} ${node.UNIT?.[0] ?? ""}`.trim();
    row.append(track, entry);
    if (node.FULL_PATH === STIFFNESS) {
      const element = make("span", { className: "mark", hidden: true });
      const note = make("p", { className: "note" });
      this.mark = { element, note, least, most };
      track.append(element);
      row.append(note);
      this.drawStable();
    }
    return (value, force) => {
      // What the hand is on is not moved under it, unless it was refused.
      if (force || (waits === undefined && document.activeElement !== entry)) {
        entry.value = short(Number(value), 6);
      }
      if (force || (waits === undefined && !slider.matches(":active"))) {
        slider.value = String(value);
        slider.setAttribute("aria-valuetext", `${digits(Number(value))} ${node.UNIT?.[0] ?? ""}`.trim());
      }
    };
  }
}

/** Parameters that can be set, in the order of the tree. */
function parameters(node: Node): Node[] {
  if (node.CONTENTS !== undefined) {
    return Object.values(node.CONTENTS).flatMap(parameters);
  }
  return node.TAGS?.includes("parameter") === true && node.ACCESS === 3 ? [node] : [];
}

function sorted(nodes: Node[]): Node[] {
  const rank = (node: Node): number => {
    const place = ORDER.findIndex((start) => node.FULL_PATH.startsWith(`/hapticd/${start}`));
    return place < 0 ? ORDER.length : place;
  };
  return nodes.sort((a, b) => rank(a) - rank(b));
}

/** `/hapticd/material/soft%20tissue/friction` becomes "Soft tissue, friction". */
function title(address: string): string {
  const names = address
    .split("/")
    .slice(3)
    .map((name) => {
      try {
        return decodeURIComponent(name);
      } catch {
        return name;
      }
    });
  const text = names.join(", ").replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A round step with some three hundred of them in the range. */
function step(span: number): number {
  const raw = span / 300;
  const power = 10 ** Math.floor(Math.log10(raw));
  return ([1, 2, 5, 10].find((round) => round * power >= raw) ?? 10) * power;
}
