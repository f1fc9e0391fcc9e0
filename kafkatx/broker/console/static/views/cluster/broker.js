// One broker: its place in the cluster, its load, its log directories, and its settings with their sources.
import { html } from "../../core/dom.js";
import { api, path } from "../../core/api.js";
import { useResource } from "../../core/resource.js";
import { route, setQuery } from "../../core/router.js";
import { NONE, bytes, count } from "../../core/text.js";
import { Badge, Dot, Facts, Meter } from "../../parts/badge.js";
import { Configs } from "../../parts/configs.js";
import { HistoryCharts, RangeChoice } from "../../parts/history.js";
import { Empty, Loaded, Page, Section } from "../../parts/page.js";
import { Table } from "../../parts/table.js";

const CHARTS = [
  { title: "Bytes", unit: "bytes/s", lines: [["bytesIn", "in"], ["bytesOut", "out"]] },
  { title: "Requests", unit: "requests/s", lines: [["produceRequests", "produce"], ["fetchRequests", "fetch"], ["requests", "all"]] },
  { title: "At work", unit: "share", most: 1, lines: [["reactorIdle", "busy", (idle) => 1 - idle], ["cpu", "of a core"]] },
];

const COPIED = { title: "Copied", unit: "bytes/s", lines: [["replicationBytesIn", "from other brokers"], ["replicationBytesOut", "to them"]] };

function Load({ id, alone }) {
  const minutes = route.value.query.minutes ?? "10";
  const choice = html`<${RangeChoice} value=${minutes} onChange=${(value) => setQuery({ minutes: value === "10" ? "" : value })} />`;
  return html`<${Section} title="Load" plain actions=${choice}>
    <${HistoryCharts} charts=${alone ? CHARTS : [...CHARTS, COPIED]} minutes=${minutes} sync="broker" broker=${id} />
  <//>`;
}

const DIRECTORIES = [
  { key: "path", title: "Directory", class: "break", cell: (dir) => html`<code>${dir.path}</code>` },
  { key: "error", title: "State", cell: (dir) => (dir.error ? html`<${Badge} tone="error">
    ${dir.error}<//>` : html`<${Badge} tone="ok">in use<//>`) },
  { key: "size", title: "Data", align: "right", cell: (dir) => bytes(dir.sizeBytes) },
  {
    key: "free",
    title: "Disk",
    align: "right",
    hide: "narrow",
    cell: (dir) => dir.totalBytes
      ? html`<${Meter} value=${Number(dir.totalBytes) - Number(dir.freeBytes)} most=${Number(dir.totalBytes)}>
        ${bytes(dir.freeBytes)} free of ${bytes(dir.totalBytes)}<//>`
      : NONE,
  },
];

function About({ broker }) {
  return html`<div class="card">
      <${Facts} facts=${[
        ["State", html`<${Dot} tone=${broker.live ? "ok" : "error"}>${broker.live ? "up" : "down"}<//>`],
        ["Address", broker.host ? `${broker.host}:${broker.port}` : NONE],
        ["Rack", broker.rack || NONE],
        ["Leads", count(broker.leaders)],
        ["Replicas", count(broker.replicas)],
        broker.load && ["Connections", count(broker.load.connections)],
        ["Controller", broker.controller ? "yes" : "no"],
        broker.version && ["Version", broker.version],
      ]} />
    </div>
    <${Section} title="Log directories">
      ${broker.logDirs
        ? html`<${Table} caption="Log directories" columns=${DIRECTORIES} rows=${broker.logDirs} keyOf=${(dir) => dir.path} />`
        : html`<p class="nothing">The broker has not told about its log directories.</p>`}
    <//>`;
}

function Settings({ id }) {
  const resource = useResource(path("configs", "brokers", id));
  async function change(changes) {
    await api.patch(path("configs", "brokers", id), changes);
    resource.reload();
  }
  return html`<${Section} title="Settings" plain>
    <${Loaded} resource=${resource}>
      ${(data) => html`<${Configs} caption=${`Settings of broker ${id}`}
        configs=${data.configs ?? data.items ?? data} change=${change} />`}
    <//>
  <//>`;
}

/** The view. */
export function Broker({ id }) {
  const resource = useResource("brokers?count=1000", { everyMs: 2000 });
  const found = resource.data?.items.find((broker) => String(broker.id) === id);
  return html`<${Page} title=${`Broker ${id}`} crumbs=${[["Brokers", ["brokers"]]]}>
    <${Loaded} resource=${resource}>
      ${() => found
        ? html`<${About} broker=${found} />${found.live && html`<${Load} id=${id} alone=${resource.data.total === 1} />`}${found.live && html`<${Settings} id=${id} />`}`
        : html`<div class="card"><${Empty} icon="brokers" title=${`There is no broker ${id}`}>
          <a class="button" href="#/brokers">All brokers</a><//></div>`}
    <//>
  <//>`;
}
