// Transactions: the transactional ids of the cluster, what they have open, and the end of one that hangs.
import { html } from "../../core/dom.js";
import { api } from "../../core/api.js";
import { href } from "../../core/router.js";
import { readOnly, serverNow } from "../../core/session.js";
import { NONE, ago, duration, words } from "../../core/text.js";
import { Badge } from "../../parts/badge.js";
import { Confirm, useDialog } from "../../parts/dialog.js";
import { ListTable, useList } from "../../parts/list_page.js";
import { Empty, Page } from "../../parts/page.js";
import { say } from "../../parts/toast.js";

const OPEN = ["ongoing", "prepare commit", "prepare abort", "prepare epoch fence"];

/** A transaction that has lasted longer than it may. */
const isLate = (row) => row.startMs > 0 && serverNow() - row.startMs > row.timeoutMs;

function State({ row }) {
  const word = words(row.state);
  return html`<${Badge}
    tone=${isLate(row) && OPEN.includes(word) ? "error" : OPEN.includes(word) ? "warning" : "plain"}>${word}<//>`;
}

function Partitions({ partitions }) {
  if (!partitions?.length) return html`<span class="muted">none</span>`;
  const named = partitions.map((one) => (typeof one === "string" ? one : `${one.topic}-${one.partition ?? one.partitions}`));
  return html`<span title=${named.join("\n")}>
    ${named.slice(0, 3).join(", ")}${named.length > 3 ? ` and ${named.length - 3} more` : ""}</span>`;
}

const columns = (open) => () => [
  { key: "transactionalId", title: "Transactional id", sort: "transactionalId", class: "name" },
  { key: "state", title: "State", sort: "state", cell: (row) => html`<${State} row=${row} />` },
  { key: "startMs", title: "Began", sort: "startMs", align: "right", cell: (row) => (row.startMs > 0 ? ago(row.startMs, serverNow()) : NONE) },
  { key: "timeoutMs", title: "May last", align: "right", hide: "medium", cell: (row) => duration(row.timeoutMs) },
  { key: "partitions", title: "Partitions", class: "name", hide: "medium", cell: (row) => html`<${Partitions}
    partitions=${row.partitions} />` },
  { key: "producer", title: "Producer", align: "right", hide: "wide", cell: (row) => `${row.producerId}, epoch ${row.producerEpoch}` },
  { key: "coordinator", title: "Coordinator", align: "right", hide: "wide", cell: (row) => html`<a
    href=${href(["brokers", String(row.coordinator)])}>${row.coordinator}</a>` },
  !readOnly.value && {
    key: "abort",
    title: html`<span class="hidden-text">Abort</span>`,
    align: "right",
    cell: (row) => words(row.state) === "ongoing" && html`<button type="button" class="button small danger"
      aria-label=${`Abort ${row.transactionalId}`} onClick=${() => open("abort", row)}>Abort</button>`,
  },
].filter(Boolean);

/** The view. */
export function Transactions() {
  const list = useList("transactions", { sort: "transactionalId", everyMs: 3000 });
  const { dialog, open, close } = useDialog();
  async function abort() {
    const { transactionalId, producerId, producerEpoch } = dialog.value;
    await api.post("transactions/abort", { transactionalId, producerId, producerEpoch });
    say(`The transaction of ${transactionalId} is aborted.`);
    list.reload();
  }
  return html`<${Page} title="Transactions"
    note="A transaction that stays open holds back every consumer that reads committed records only.">
    <${ListTable} list=${list} things="transactional ids" columns=${columns(open)} keyOf=${(row) => row.transactionalId}
      none=${html`<${Empty} icon="transactions" title="No transactional producers yet">
        Producers with a <code>transactional.id</code> are listed here with what they have open.<//>`} />
    ${dialog && html`<${Confirm} title=${`Abort the transaction of ${dialog.value.transactionalId}`} verb="Abort it"
      onConfirm=${abort} onClose=${close}>
      <p>What it has written is never seen by readers of committed records. Its producer is told so, and cannot go on with it.</p>
    <//>`}
  <//>`;
}
