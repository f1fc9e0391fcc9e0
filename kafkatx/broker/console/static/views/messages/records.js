// The records that were read: one line each; a line opens to show all of a record.
import { html, names, useState } from "../../core/dom.js";
import { NONE, time, timeZone } from "../../core/text.js";
import { Badge } from "../../parts/badge.js";
import { Icon } from "../../parts/icon.js";
import { Record } from "./record.js";

const PREVIEW = 300;

/** A key or value in one line. */
function Preview({ part }) {
  if (!part) return html`<span class="preview null">${NONE}</span>`;
  if (part.text === null || part.text === undefined) return html`<span class="preview null">
    ${part.format === "hidden" ? "hidden" : "null"}</span>`;
  if (part.text === "") return html`<span class="preview null">empty</span>`;
  return html`<span class="preview">${part.text.slice(0, PREVIEW).replace(/\s+/g, " ")}</span>`;
}

export const keyOf = (record) => `${record.partition}|${record.offset}`;

function Line({ record, opened, toggle }) {
  return html`<tr class=${names(opened && "opened")}>
    <th scope="row">
      <button type="button" class="expander" aria-expanded=${opened ? "true" : "false"} onClick=${toggle}>
        <${Icon} name="right" size=${14} />
          <span class="hidden-text">Record at partition and offset</span> ${record.partition} : ${record.offset}
      </button>
    </th>
    <td class="one-line hide-narrow">${time(record.timestampMs, true)}</td>
    <td class="hide-narrow"><${Preview} part=${record.key} /></td>
    <td><${Preview} part=${record.value} />${record.control && html`<${Badge}>marker<//>`}</td>
  </tr>`;
}

/** The table. */
export function Records({ topic, records, request, produce }) {
  const [opened, setOpened] = useState(new Set());
  function toggle(key) {
    const next = new Set(opened);
    if (!next.delete(key)) next.add(key);
    setOpened(next);
  }
  return html`<div class="card flush records">
    <div class="table-frame">
      <table>
        <caption class="hidden-text">Records of ${topic.name}</caption>
        <thead><tr>
          <th scope="col" class="place">Partition : offset</th>
          <th scope="col" class="when hide-narrow">Time (${timeZone()})</th>
          <th scope="col" class="key hide-narrow">Key</th>
          <th scope="col">Value</th>
        </tr></thead>
        <tbody>
          ${records.map((record) => {
            const key = keyOf(record);
            const open = opened.has(key);
            return [
              html`<${Line} key=${key} record=${record} opened=${open} toggle=${() => toggle(key)} />`,
              open && html`<tr class="detail" key=${`${key}|detail`}><td colspan="4"><${Record} topic=${topic}
                record=${record} request=${request} produce=${produce} /></td></tr>`,
            ];
          })}
        </tbody>
      </table>
    </div>
  </div>`;
}
