// The groups that have committed offsets of a topic, with their lag in it.
import { html } from "../../core/dom.js";
import { href } from "../../core/router.js";
import { count } from "../../core/text.js";
import { GroupState, Meter } from "../../parts/badge.js";
import { Empty } from "../../parts/page.js";
import { LocalTable } from "../../parts/table.js";

/** The tab. */
export function GroupsOf({ groups }) {
  if (!groups.length) {
    return html`<div class="card"><${Empty} icon="groups" title="No group reads this topic">
      Groups appear here once they have committed an offset of it, for example after <code>kafkatx consume --group NAME</code>.
    <//></div>`;
  }
  const most = Math.max(1, ...groups.map((group) => Number(group.lag ?? 0)));
  const columns = [
    { key: "id", title: "Group", sort: "id", class: "name", cell: (group) => html`<a
      href=${href(["groups", group.id])}>${group.id}</a>` },
    { key: "state", title: "State", sort: "state", cell: (group) => html`<${GroupState} state=${group.state} />` },
    { key: "lag", title: "Lag", sort: "lag", align: "right", cell: (group) => html`<${Meter} value=${group.lag ?? 0}
      most=${most}>${count(group.lag)}<//>` },
  ];
  return html`<div class="card flush"><${LocalTable} caption="Groups" columns=${columns} rows=${groups} first="id"
    keyOf=${(group) => group.id} /></div>`;
}
