// The idempotent and transactional producers that a topic's partitions know, and what they have open.
import { html } from "../../core/dom.js";
import { path } from "../../core/api.js";
import { useResource } from "../../core/resource.js";
import { serverNow } from "../../core/session.js";
import { ago, count } from "../../core/text.js";
import { Badge } from "../../parts/badge.js";
import { Empty, Loaded } from "../../parts/page.js";
import { LocalTable } from "../../parts/table.js";

const COLUMNS = [
  { key: "producerId", title: "Producer id", sort: "producerId", align: "right" },
  { key: "producerEpoch", title: "Epoch", align: "right" },
  { key: "partition", title: "Partition", sort: "partition", align: "right" },
  { key: "lastSequence", title: "Last sequence", align: "right", hide: "narrow", cell: (producer) => count(producer.lastSequence) },
  { key: "lastTimestampMs", title: "Last write", sort: "lastTimestampMs", align: "right", cell: (producer) => ago(producer.lastTimestampMs, serverNow()) },
  {
    key: "transactionStartOffset",
    title: "Transaction",
    cell: (producer) => {
      const start = producer.transactionStartOffset;
      return start === null || Number(start) < 0 ? html`<span class="muted">none open</span>` : html`<${Badge}
        tone="warning">open since offset ${count(start)}<//>`;
    },
  },
];

/** The tab. */
export function Producers({ topic }) {
  const resource = useResource(path("topics", topic.name, "producers"), { everyMs: 5000 });
  return html`<${Loaded} resource=${resource}>
    ${({ items }) =>
      items.length
        ? html`<div class="card flush"><${LocalTable} caption="Producers" columns=${COLUMNS} rows=${items}
          first="-lastTimestampMs" keyOf=${(producer) => `${producer.partition}|${producer.producerId}`} /></div>`
        : html`<div class="card"><${Empty} icon="transactions" title="No producer with an id has written lately">
          Idempotent and transactional producers are listed here; others have no id.<//></div>`}
  <//>`;
}
