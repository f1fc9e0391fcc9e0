// All consumer groups: their states, members and lag, in records and in time.
import { html } from "../../core/dom.js";
import { href } from "../../core/router.js";
import { NONE, behind, compact, count } from "../../core/text.js";
import { Badge, GroupState, Meter } from "../../parts/badge.js";
import { ListTable, useList } from "../../parts/list_page.js";
import { Empty, Page } from "../../parts/page.js";

function columns(groups) {
  const most = Math.max(1, ...groups.map((group) => Number(group.lag ?? 0)));
  return [
    { key: "id", title: "Group", sort: "id", class: "name", cell: (group) => html`<a
      href=${href(["groups", group.id])}>${group.id}</a>` },
    { key: "state", title: "State", sort: "state", cell: (group) => html`<${GroupState} state=${group.state} />` },
    { key: "protocol", title: "Protocol", hide: "medium", cell: (group) => html`<${Badge}>${group.protocol}<//>` },
    { key: "members", title: "Members", sort: "members", align: "right", hide: "narrow", cell: (group) => count(group.members) },
    { key: "topics", title: "Topics", sort: "topics", align: "right", hide: "medium", cell: (group) => count(Array.isArray(group.topics) ? group.topics.length : group.topics) },
    { key: "lagMs", title: "Behind", sort: "lagMs", align: "right", hide: "narrow", cell: (group) => behind(group.lagMs) },
    { key: "lag", title: "Lag", sort: "lag", align: "right", cell: (group) => group.lag === null
      ? html`<span class="muted" title="It has committed no offsets">${NONE}</span>`
      : html`<${Meter} value=${group.lag} most=${most}><span title=${count(group.lag)}>${compact(group.lag)}</span><//>` },
  ];
}

/** The view. */
export function Groups() {
  const list = useList("groups", { sort: "id", everyMs: 3000 });
  return html`<${Page} title="Groups" note="Lag is what a group has still to read, counted by the broker itself at this moment.">
    <${ListTable} list=${list} things="groups" columns=${columns} keyOf=${(group) => group.id}
      none=${html`<${Empty} icon="groups" title="No consumer groups yet">
        Start a consumer with a <code>group.id</code>, for example <code>kafkatx consume --group trial TOPIC</code>.<//>`} />
  <//>`;
}
