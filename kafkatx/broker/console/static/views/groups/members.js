// The members of a group and what each reads.
import { html } from "../../core/dom.js";
import { href } from "../../core/router.js";
import { plural } from "../../core/text.js";
import { Empty } from "../../parts/page.js";
import { LocalTable } from "../../parts/table.js";

/** [0, 1, 2, 5] → "0–2, 5". */
export function ranges(numbers) {
  const parts = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = parts.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : to === from + 1 ? `${from}, ${to}` : `${from}–${to}`)).join(", ");
}

const COLUMNS = [
  {
    key: "clientId",
    title: "Client",
    sort: "clientId",
    class: "name",
    cell: (member) => html`${member.clientId || html`<span class="muted">
      no client id</span>`}${member.instanceId && html` <span class="muted">static: ${member.instanceId}</span>`}`,
  },
  { key: "host", title: "Address", sort: "host", hide: "narrow", cell: (member) => (member.host ?? "").replace(/^\//, "") },
  {
    key: "assignments",
    title: "Reads",
    class: "name",
    cell: (member) => member.assignments.length
      ? member.assignments.map(({ topic, partitions }) => html`<div><a href=${href(["topics", topic])}>
        ${topic}</a> <span class="muted">${plural(partitions.length, "partition")}:</span> ${ranges(partitions)}</div>`)
      : html`<span class="muted">nothing</span>`,
  },
  { key: "memberId", title: "Member", hide: "wide", class: "break", cell: (member) => html`<code class="muted">
    ${member.memberId}</code>` },
];

/** The table. */
export const Members = ({ members }) =>
  members.length
    ? html`<div class="card flush"><${LocalTable} caption="Members" columns=${COLUMNS} rows=${members}
      first="clientId" keyOf=${(member) => member.memberId} /></div>`
    : html`<div class="card"><${Empty} icon="users" title="Nobody is in this group now">
      Its offsets stay until they expire; a consumer that joins goes on from them.<//></div>`;
