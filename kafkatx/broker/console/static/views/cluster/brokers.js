// The brokers of the cluster: which are there, what they lead, and how full their disks are.
import { html } from "../../core/dom.js";
import { href } from "../../core/router.js";
import { NONE, bytes, count, percent, quantity } from "../../core/text.js";
import { Badge, Dot, Meter } from "../../parts/badge.js";
import { ListTable, useList } from "../../parts/list_page.js";
import { Empty, Page } from "../../parts/page.js";

/** Sum a field of all log dirs; null if the broker has not told. */
export const total = (broker, field) => broker.logDirs?.reduce((sum, dir) => sum + Number(dir[field] ?? 0), 0) ?? null;

export const Disks = ({ broker }) => {
  const all = total(broker, "totalBytes");
  if (!all) return html`<span class="muted">${NONE}</span>`;
  const used = all - total(broker, "freeBytes");
  return html`<${Meter} value=${used} most=${all}>${bytes(total(broker, "freeBytes"))} free<//>`;
};

/** How busy a broker is; "–" if it has not told. */
export const busy = (broker) => percent(broker.load?.reactorIdle == null ? null : 1 - broker.load.reactorIdle);

const columns = () => [
  { key: "id", title: "Broker", sort: "id", cell: (broker) => html`<a href=${href(["brokers", String(broker.id)])}>
    ${broker.id}</a>` },
  {
    key: "live",
    title: "State",
    sort: "live",
    cell: (broker) => html`<span class="badges"><${Dot} tone=${broker.live ? "ok" : "error"}>${broker.live ? "up" : "down"}<//>
      ${broker.controller && html`<${Badge} tone="accent">controller<//>`}
      ${broker.logDirs?.some((dir) => dir.error) && html`<${Badge} tone="error">log dir failed<//>`}</span>`,
  },
  { key: "host", title: "Address", hide: "narrow", class: "name", cell: (broker) => (broker.host ? `${broker.host}:${broker.port}` : NONE) },
  { key: "rack", title: "Rack", sort: "rack", hide: "wide", cell: (broker) => broker.rack || NONE },
  { key: "leaders", title: "Leads", sort: "leaders", align: "right", cell: (broker) => count(broker.leaders) },
  { key: "replicas", title: "Replicas", sort: "replicas", align: "right", hide: "wide", cell: (broker) => count(broker.replicas) },
  { key: "in", title: "In", align: "right", hide: "medium", cell: (broker) => quantity(broker.load?.bytesInPerSecond, "bytes/s") },
  { key: "out", title: "Out", align: "right", hide: "medium", cell: (broker) => quantity(broker.load?.bytesOutPerSecond, "bytes/s") },
  { key: "busy", title: "Busy", align: "right", cell: busy },
  { key: "size", title: "Data", align: "right", hide: "medium", cell: (broker) => bytes(total(broker, "sizeBytes")) },
  { key: "free", title: "Disks", align: "right", hide: "wide", cell: (broker) => html`<${Disks} broker=${broker} />` },
];

/** The view. */
export function Brokers() {
  const list = useList("brokers", { sort: "id", everyMs: 2000 });
  return html`<${Page} title="Brokers" note="Each broker's own settings, log directories and load are on its page.">
    <${ListTable} list=${list} things="brokers" columns=${columns} keyOf=${(broker) => broker.id}
      none=${html`<${Empty} icon="brokers" title="No brokers are known">This one has not joined a cluster yet.<//>`} />
  <//>`;
}
