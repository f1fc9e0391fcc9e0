// Small marks: states in words and colour (never colour alone), shares as bars, names to copy.
import { html, names, useEffect, useRef, useState } from "../core/dom.js";
import { Icon } from "./icon.js";

/** A word on a tone: "ok", "warning", "error", "accent" or none. */
export const Badge = ({ tone = "plain", children }) => html`<span class=${`badge badge-${tone}`}>${children}</span>`;

const GROUP_TONES = { stable: "ok", empty: "plain", dead: "plain" };

/** The state of a group. */
export const GroupState = ({ state }) => {
  const word = (state ?? "unknown").replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ").toLowerCase();
  return html`<${Badge} tone=${GROUP_TONES[word] ?? "warning"}>${word}<//>`;
};

/** A share of the largest, as a bar below its text. */
export function Meter({ value, most, children }) {
  const bar = useRef(null);
  const share = most > 0 ? Math.max(0, Math.min(1, Number(value) / most)) : 0;
  useEffect(() => bar.current?.style.setProperty("--share", String(share)), [share]);
  return html`<span class="meter">${children}<span class="meter-bar" ref=${bar} aria-hidden="true"></span></span>`;
}

/** A dot with a word: live, dead and the like. */
export const Dot = ({ tone, children }) => html`<span class="dotted"><span class=${`dot dot-${tone}`}></span>${children}</span>`;

/** A button that copies *text*. */
export function CopyButton({ text, label = "Copy", small = true }) {
  const [copied, setCopied] = useState(false);
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      (document.querySelector("dialog[open]") ?? document.body).append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  }
  return html`<button type="button" class=${names("button quiet", small && "small")} onClick=${copy}>
    <${Icon} name=${copied ? "check" : "copy"} size=${15} /> ${copied ? "Copied" : label}
  </button>`;
}

/** A number with its name; *hint* explains it. */
export const Tile = ({ label, value, hint, tone, href }) => html`<${href ? "a" : "div"} class=${names("tile", tone && `tile-${tone}`)} href=${href}>
  <span class="tile-label">${label}</span>
  <span class="tile-value">${value}</span>
  ${hint && html`<span class="tile-hint">${hint}</span>`}
<//>`;

/** Pairs of name and value. Values may be anything that can be drawn. */
export const Facts = ({ facts }) => html`<dl class="facts">
  ${facts
    .filter(Boolean)
    .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
</dl>`;
