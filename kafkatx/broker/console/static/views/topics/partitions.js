// The partitions of a topic: leader, replicas and which of them are in sync, offsets and sizes.
import { html } from "../../core/dom.js";
import { href } from "../../core/router.js";
import { bytes, count } from "../../core/text.js";
import { Badge, Meter } from "../../parts/badge.js";
import { LocalTable } from "../../parts/table.js";

function Replicas({ partition }) {
  return html`<span class="badges">
    ${partition.replicas.map((replica) => {
      const inSync = partition.isr.includes(replica);
      const leads = replica === partition.leader;
      const word = leads ? "leader" : inSync ? "in sync" : "out of sync";
      return html`<${Badge} tone=${leads ? "accent" : inSync ? "ok" : "warning"}>
        <a class="plain-link" href=${href(["brokers", String(replica)])} title=${`broker ${replica}: ${word}`}>
          ${replica}</a><span class="hidden-text"> ${word}</span>
      <//>`;
    })}
  </span>`;
}

/** The tab. */
export function Partitions({ topic }) {
  const largest = Math.max(1, ...topic.partitions.map((partition) => Number(partition.sizeBytes ?? 0)));
  const columns = [
    { key: "partition", title: "Partition", sort: "partition", cell: ({ partition }) => html`<a
      href=${href(["topics", topic.name], { partition: String(partition) })}>${partition}</a>` },
    {
      key: "replicas",
      title: "Leader and replicas",
      cell: (partition) => partition.leader === null || partition.leader < 0
        ? html`<span class="badges"><${Badge} tone="error">no leader<//><${Replicas} partition=${partition} /></span>`
        : html`<${Replicas} partition=${partition} />`,
    },
    { key: "leaderEpoch", title: "Epoch", sort: "leaderEpoch", align: "right", hide: "medium", cell: (partition) => count(partition.leaderEpoch) },
    { key: "startOffset", title: "First offset", sort: "startOffset", align: "right", hide: "narrow", cell: (partition) => count(partition.startOffset) },
    { key: "endOffset", title: "End offset", sort: "endOffset", align: "right", cell: (partition) => count(partition.endOffset) },
    { key: "stableOffset", title: "Stable to", sort: "stableOffset", align: "right", hide: "wide", cell: (partition) => count(partition.stableOffset) },
    { key: "sizeBytes", title: "Size", sort: "sizeBytes", align: "right", hide: "narrow", cell: (partition) => html`<${Meter}
      value=${partition.sizeBytes} most=${largest}>${bytes(partition.sizeBytes)}<//>` },
  ];
  return html`<div class="card flush">
    <${LocalTable} caption=${`Partitions of ${topic.name}`} columns=${columns} rows=${topic.partitions}
      first="partition" keyOf=${(partition) => partition.partition} />
  </div>`;
}
