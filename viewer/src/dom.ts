// Small help for making and finding elements. Styles are set by class or property only: the page's policy
// forbids style attributes in markup.

/** The element of that id, of the kind asked for. The page is ours: a missing one is a mistake of the build. */
export function byId<T extends HTMLElement>(id: string, kind: new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) {
    throw new Error(`the page has no ${kind.name} #${id}`);
  }
  return element;
}

/** A new element with properties and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Sets a text only when it differs, so that readers of the screen are not told the same twice. */
export function say(element: HTMLElement, text: string): void {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** A number with some significant digits, without an exponent and with few decimals. */
export function digits(value: number, significant = 3, decimals = 3): string {
  if (!Number.isFinite(value)) {
    return "–";
  }
  if (value === 0) {
    return "0";
  }
  const whole = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toFixed(Math.min(decimals, Math.max(0, significant - whole)));
}

/** Like [`digits`], without zeros at the end. */
export const short = (value: number, significant = 4): string => String(Number(digits(value, significant, 9)));
