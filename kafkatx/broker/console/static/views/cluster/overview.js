// The first page: is the cluster well, how much goes through it, and what was it like before.
import { html } from "../../core/dom.js";
import { useLive } from "../../core/events.js";
import { useResource } from "../../core/resource.js";
import { href, route, setQuery } from "../../core/router.js";
import { session } from "../../core/session.js";
import { behind, bytes, compact, count, duration, percent, plural, quantity } from "../../core/text.js";
import { Meter, Tile } from "../../parts/badge.js";
import { HistoryCharts, RangeChoice } from "../../parts/history.js";
import { Icon } from "../../parts/icon.js";
import { Empty, Loaded, Page, Section } from "../../parts/page.js";
import { Table } from "../../parts/table.js";

const CHARTS = [
  { title: "Bytes", unit: "bytes/s", lines: [["bytesIn", "in"], ["bytesOut", "out"]] },
  { title: "Records in", unit: "records/s", lines: [["recordsIn", "records"]] },
  { title: "Requests", unit: "requests/s", lines: [["produceRequests", "produce"], ["fetchRequests", "fetch"]] },
  { title: "Busiest broker at work", unit: "share", most: 1, lines: [["reactorIdle", "busy", (idle) => 1 - idle]] },
];

const LIST_MS = 5000;

/** One sentence about the cluster's health. */
function health(overview) {
  const { brokers, topics, partitions, underReplicated, offline } = overview;
  const away = brokers.known - brokers.live;
  const up = away ? `${count(brokers.live)} of ${plural(brokers.known, "broker")} are up` : brokers.known === 1 ? "The broker is up" : `All ${count(brokers.known)} brokers are up`;
  const well = offline || underReplicated ? "" : partitions ? ", every replica in sync" : "";
  return `${up}; ${plural(topics, "topic")} with ${plural(partitions, "partition")}${well}.`;
}

const Problems = ({ problems }) =>
  problems.length > 0 &&
  html`<ul class="problems" aria-label="Problems">
    ${problems.map(
      ({ severity, text, link }) => html`<li class=${`message message-${severity}`}>
        <${Icon} name="warning" />
        <p>${text}${link?.startsWith("#/") && html` <a href=${link}>Look at it</a>`}</p>
      </li>`,
    )}
  </ul>`;

/** The busiest broker of several, or how long the only one is up. */
const busiest = ({ brokers, busiestBroker, uptimeMs }) =>
  brokers.known > 1 && busiestBroker !== null ? `broker ${busiestBroker}, the busiest` : `up for ${duration(uptimeMs)}`;

const Numbers = ({ now }) => html`<div class="tiles">
  <${Tile} label="In" value=${quantity(now.rates.bytesInPerSecond, "bytes/s")}
    hint=${`${compact(now.rates.recordsInPerSecond)} records/s`} />
  <${Tile} label="Out" value=${quantity(now.rates.bytesOutPerSecond, "bytes/s")}
    hint=${`${compact(now.rates.fetchRequestsPerSecond)} fetches/s`} />
  <${Tile} label="On disk" value=${bytes(now.sizeBytes)} hint=${plural(now.topics, "topic")} href="#/topics?sort=-sizeBytes" />
  <${Tile} label="Partitions" value=${count(now.partitions)}
    tone=${now.offline ? "error" : now.underReplicated ? "warning" : ""}
    hint=${now.offline ? `${count(now.offline)} offline` : now.underReplicated ? `${count(now.underReplicated)} under-replicated` : "all in sync"} href="#/topics" />
  <${Tile} label="Groups" value=${count(now.groups)} hint=${plural(now.connections, "connection")} href="#/groups" />
  <${Tile} label="Busy" value=${now.reactorIdle === null ? percent(null) : percent(1 - now.reactorIdle)}
    tone=${now.reactorIdle !== null && now.reactorIdle < 0.1 ? "warning" : ""} hint=${busiest(now)} href="#/brokers" />
</div>`;

function Busiest() {
  const resource = useResource("topics?sort=-bytesInPerSecond&count=5&internal=false", { everyMs: LIST_MS });
  const columns = (most) => [
    { key: "name", title: "Topic", class: "name", cell: (topic) => html`<a href=${href(["topics", topic.name])}>
      ${topic.name}</a>` },
    { key: "records", title: "Records", align: "right", cell: (topic) => compact(topic.records) },
    { key: "rate", title: "In", align: "right", cell: (topic) => html`<${Meter} value=${topic.bytesInPerSecond}
      most=${most}>${quantity(topic.bytesInPerSecond, "bytes/s")}<//>` },
  ];
  return html`<${Section} title="Busiest topics">
    <${Loaded} resource=${resource}>
      ${({ items }) => {
        const busy = items.filter((topic) => topic.bytesInPerSecond > 0);
        if (busy.length) {
          return html`<${Table} caption="Busiest topics"
            columns=${columns(Math.max(1, ...busy.map((topic) => topic.bytesInPerSecond)))} rows=${busy}
            keyOf=${(topic) => topic.name} />`;
        }
        return items.length
          ? html`<${Empty} title="Nothing is written at the moment">
            The page of <a href="#/topics?sort=-records">topics</a> has all of them.<//>`
          : html`<${Empty} title="No topics yet">
            Create one on the page of <a href="#/topics">topics</a>, or let a producer do it.<//>`;
      }}
    <//>
  <//>`;
}

function Furthest() {
  const resource = useResource("groups?sort=-lag&count=5", { everyMs: LIST_MS });
  const columns = (most) => [
    { key: "id", title: "Group", class: "name", cell: (group) => html`<a href=${href(["groups", group.id])}>${group.id}</a>` },
    { key: "lagMs", title: "Behind", align: "right", cell: (group) => behind(group.lagMs) },
    { key: "lag", title: "Lag", align: "right", cell: (group) => html`<${Meter} value=${group.lag ?? 0} most=${most}>
      ${compact(group.lag)}<//>` },
  ];
  return html`<${Section} title="Largest lag">
    <${Loaded} resource=${resource}>
      ${({ items }) =>
        items.length
          ? html`<${Table} caption="Groups with the largest lag"
            columns=${columns(Math.max(1, ...items.map((group) => Number(group.lag ?? 0))))} rows=${items}
            keyOf=${(group) => group.id} />`
          : html`<${Empty} icon="groups" title="No consumer groups yet">
            They appear here with their lag as soon as a consumer with a <code>group.id</code> joins.<//>`}
    <//>
  <//>`;
}

/** The view. */
export function Overview() {
  const first = useResource("overview");
  const live = useLive("overview");
  const minutes = route.value.query.minutes ?? "10";
  const resource = live ? { data: live, error: null } : first;
  if (resource.error?.status === 403) {
    return html`<${Page} title="Overview">
      <div class="card"><${Empty} icon="acls" title="You may not see the cluster as a whole">
        Its numbers and charts need the right Describe on the cluster (${session.value.principal ?? "you"} has none). Topics and groups
        that you may see are below.<//></div>
      <div class="columns"><${Busiest} /><${Furthest} /></div>
    <//>`;
  }
  return html`<${Page} title="Overview" note=${resource.data && health(resource.data)}
    actions=${html`<${RangeChoice} value=${minutes}
      onChange=${(value) => setQuery({ minutes: value === "10" ? "" : value })} />`}>
    <${Loaded} resource=${resource}>
      ${(now) => html`<${Problems} problems=${now.problems ?? []} /><${Numbers} now=${now} />`}
    <//>
    <${HistoryCharts} charts=${CHARTS} minutes=${minutes} sync="overview" />
    <div class="columns"><${Busiest} /><${Furthest} /></div>
  <//>`;
}
