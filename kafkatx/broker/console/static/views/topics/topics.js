// All topics: searched, sorted and cut into pages by the broker, which keeps them in memory.
import { html } from "../../core/dom.js";
import { href, route, setQuery } from "../../core/router.js";
import { readOnly } from "../../core/session.js";
import { bytes, compact, count, duration, quantity } from "../../core/text.js";
import { Badge, Meter } from "../../parts/badge.js";
import { useDialog } from "../../parts/dialog.js";
import { CheckField } from "../../parts/form.js";
import { Icon } from "../../parts/icon.js";
import { ListTable, useList } from "../../parts/list_page.js";
import { Empty, Page } from "../../parts/page.js";
import { CreateTopic } from "./create.js";

const Marks = ({ topic }) => html`<span class="badges">
  ${topic.internal && html`<${Badge}>internal<//>`}
  ${topic.cleanupPolicy?.includes("compact") && html`<${Badge} tone="accent">compacted<//>`}
  ${topic.offline > 0 && html`<${Badge} tone="error">${count(topic.offline)} offline<//>`}
  ${topic.underReplicated > 0 && html`<${Badge} tone="warning">${count(topic.underReplicated)} under-replicated<//>`}
</span>`;

/** How long records are kept; compaction alone keeps the last one of each key for ever. */
const keptFor = (topic) => (topic.cleanupPolicy?.includes("delete") ? duration(topic.retentionMs) : html`<span class="muted"
  title="The last record of each key stays">last of each key</span>`);

function columns(topics) {
  const largest = Math.max(1, ...topics.map((topic) => Number(topic.sizeBytes ?? 0)));
  return [
    { key: "name", title: "Topic", sort: "name", class: "name", cell: (topic) => html`<a
      href=${href(["topics", topic.name])}>${topic.name}</a>` },
    { key: "marks", title: html`<span class="hidden-text">Marks</span>`, hide: "narrow", cell: (topic) => html`<${Marks}
      topic=${topic} />` },
    { key: "partitions", title: "Partitions", sort: "partitions", align: "right", hide: "narrow", cell: (topic) => count(topic.partitions) },
    { key: "replicationFactor", title: "Copies", sort: "replicationFactor", align: "right", hide: "medium", cell: (topic) => count(topic.replicationFactor) },
    { key: "retentionMs", title: "Kept for", sort: "retentionMs", align: "right", hide: "wide", cell: keptFor },
    { key: "bytesIn", title: "In", sort: "bytesInPerSecond", align: "right", hide: "medium", cell: (topic) => quantity(topic.bytesInPerSecond, "bytes/s") },
    { key: "records", title: "Records", sort: "records", align: "right", cell: (topic) => html`<span
      title=${count(topic.records)}>${compact(topic.records)}</span>` },
    { key: "size", title: "Size", sort: "sizeBytes", align: "right", cell: (topic) => html`<${Meter}
      value=${topic.sizeBytes} most=${largest}>${bytes(topic.sizeBytes)}<//>` },
  ];
}

/** The view. */
export function Topics() {
  const all = route.value.query.internal !== "no";
  const list = useList("topics", { sort: "name", extra: { internal: all ? "" : "false" } });
  const { dialog, open, close } = useDialog();
  const create = !readOnly.value && html`<button type="button" class="button primary"
    onClick=${() => open("create")}><${Icon} name="plus" /> Create topic</button>`;
  return html`<${Page} title="Topics" actions=${create}>
    <${ListTable} list=${list} things="topics" columns=${columns} keyOf=${(topic) => topic.name}
      beside=${html`<${CheckField} label="Internal topics" checked=${all}
        onChange=${(on) => setQuery({ internal: on ? "" : "no", offset: "" })} />`}
      none=${html`<${Empty} title="No topics yet" action=${create}>
        A topic is created here, by <code>kafkatx topics create</code>, or by the first producer that writes to it.<//>`} />
    ${dialog && html`<${CreateTopic} onClose=${close} />`}
  <//>`;
}
