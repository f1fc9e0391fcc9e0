// Texts of programs: JSON in colours, and the difference of two versions side by side or in one column.
import { html, useMemo, useState } from "../core/dom.js";
import { difference, sideBySide } from "../core/diff.js";
import { pretty } from "../core/pretty.js";
import { Choice } from "./form.js";

/** A text; JSON is laid out and coloured. Every piece is a text node. */
export function Code({ text, label = "Text" }) {
  const pieces = useMemo(() => pretty(text), [text]);
  return html`<pre class="code" tabindex="0" role="region" aria-label=${label}>${pieces === null
    ? text
    : pieces.map(([kind, piece]) => (kind === "mark" ? piece : html`<span class=${`json-${kind}`}>${piece}</span>`))}</pre>`;
}

const SIGNS = { same: " ", removed: "−", added: "+" };
const WORDS = { removed: "removed: ", added: "added: " };

function Line({ row, side }) {
  if (row === null) return html`<td class="diff-number"></td><td class="diff-none"></td>`;
  return html`<td class="diff-number">${side === "left" ? row.left : (row.right ?? row.left)}</td>
    <td class=${`diff-text diff-${row.kind}`}>
      ${WORDS[row.kind] && html`<span class="hidden-text">${WORDS[row.kind]}</span>`}<span class="diff-sign"
        aria-hidden="true">${SIGNS[row.kind]}</span>${row.text}
    </td>`;
}

/** The difference between *before* and *after*, which are named by the two labels. */
export function Difference({ before, after, beforeLabel, afterLabel }) {
  const [layout, setLayout] = useState(matchMedia("(min-width: 900px)").matches ? "side" : "inline");
  const rows = useMemo(() => difference(before, after), [before, after]);
  const changed = rows.filter((row) => row.kind !== "same").length;
  const body =
    layout === "side"
      ? sideBySide(rows).map(([left, right]) => html`<tr><${Line} row=${left} side="left" /><${Line} row=${right}
        side="right" /></tr>`)
      : rows.map((row) => html`<tr><${Line} row=${row} side="inline" /></tr>`);
  return html`<div class="diff-head">
      <span>${beforeLabel} <span aria-hidden="true">
        →</span> ${afterLabel}: ${changed ? `${changed} lines differ` : "no line differs"}</span>
      <${Choice} label="Layout" value=${layout} options=${[["side", "Side by side"], ["inline", "One column"]]}
        onChange=${setLayout} />
    </div>
    <div class="diff-frame" tabindex="0" role="region" aria-label="Difference">
      <table class=${`diff diff-layout-${layout}`}><tbody>${body}</tbody></table>
    </div>`;
}
