// All of one record: key, value and headers in full, what is known of them, and what can be done with it.
import { html, useState } from "../../core/dom.js";
import { laidOut } from "../../core/pretty.js";
import { useAction } from "../../core/resource.js";
import { href } from "../../core/router.js";
import { NONE, bytes, plural, time, words } from "../../core/text.js";
import { Badge, CopyButton, Facts } from "../../parts/badge.js";
import { Code } from "../../parts/code.js";
import { Icon } from "../../parts/icon.js";
import { Failure } from "../../parts/page.js";
import { readWhole } from "./reader.js";

const isNull = (part) => !part || part.text === null || part.text === undefined;
const isSecret = (part) => part?.format === "hidden" || part?.format === "masked";

function Part({ title, part }) {
  return html`<section class="record-part">
    <header>
      <h3>${title}</h3>
      ${part && !isNull(part) && html`<${Badge}>${part.format}<//>`}
      ${part?.size >= 0 && html`<span class="muted">${bytes(part.size)}</span>`}
      ${part?.truncated && html`<${Badge} tone="warning">its beginning<//>`}
      ${part?.fault && html`<span class="warned">${part.fault}</span>`}
      ${!isNull(part) && html`<${CopyButton} text=${laidOut(part.text)} label=${`Copy ${title.toLowerCase()}`} />`}
    </header>
    ${isNull(part)
      ? html`<p class="null">${isSecret(part) ? "not shown by this console" : "null"}</p>`
      : html`<${Code} text=${part.text} label=${title} />`}
  </section>`;
}

function Headers({ headers, leftOut }) {
  if (!headers?.length) return null;
  return html`<section class="record-part">
    <header><h3>Headers</h3></header>
    <dl class="facts">
      ${headers.map(
        ({ key, value }) => html`<div>
          <dt>${key}</dt>
          <dd class="mono">${isNull(value) ? html`<span class="null">null</span>` : value.text}</dd>
        </div>`,
      )}
    </dl>
    ${leftOut > 0 && html`<p class="note">${plural(leftOut, "more header")} are not shown.</p>`}
  </section>`;
}

/** What is copied: the record as one JSON text, with key and value as they are shown. */
function asJson({ partition, offset, timestampMs, key, value, headers }) {
  const pairs = (headers ?? []).map((header) => [header.key, header.value?.text ?? null]);
  const fields = { partition, offset, timestampMs, key: key?.text ?? null, value: value?.text ?? null, headers: pairs };
  return JSON.stringify(fields, null, 2);
}

const schemaOf = (record) => record.value?.schema ?? record.schema ?? record.key?.schema ?? null;

function Schema({ schema }) {
  if (!schema.subject) return `id ${schema.id}`;
  return html`<a href=${href(["schemas", schema.subject])}>${schema.subject}</a>, id ${schema.id}`;
}

function About({ record }) {
  const schema = schemaOf(record);
  const kind = record.timestampType ? ` (${words(record.timestampType)})` : "";
  return html`<${Facts} facts=${[
    ["Partition", record.partition],
    ["Offset", record.offset],
    ["Time", `${time(record.timestampMs, true)}${kind}`],
    ["Headers", plural(record.headers?.length ?? 0, "header")],
    record.transactional && ["Transaction", record.transactional === true ? "in one" : record.transactional],
    record.control && ["Marker", record.control],
    record.fault && ["Fault", record.fault],
    schema && ["Schema", html`<${Schema} schema=${schema} />`],
  ]} />`;
}

/** The opened record; *produce(record)* opens the form with its content, or is null. */
export function Record({ topic, record: read, request, produce }) {
  const [record, setRecord] = useState(read);
  const { keyFormat, valueFormat } = request;
  const whole = useAction(async () => setRecord(await readWhole(topic.name, read, { keyFormat, valueFormat })));
  const query = { ...request, topic: "", partition: String(record.partition), from: `offset:${record.offset}`, filter: "" };
  const around = href(["topics", topic.name], query);
  const cut = record.key?.truncated || record.value?.truncated;
  const sends = produce && !record.control && !isSecret(record.key) && !isSecret(record.value);
  return html`<div class="record">
    <${About} record=${record} />
    <${Part} title="Key" part=${record.key} />
    <${Part} title="Value" part=${record.value} />
    <${Headers} headers=${record.headers} leftOut=${record.headersLeftOut} />
    <${Failure} error=${whole.error} />
    <div class="toolbar">
      ${cut && record === read && html`<button type="button" class="button" onClick=${() => whole.run()}>Show all of it</button>`}
      <${CopyButton} text=${asJson(record)} label="Copy record" small=${false} />
      ${sends &&
      html`<button type="button" class="button" onClick=${() => produce(record)}>
        <${Icon} name="send" size=${15} /> Send again
      </button>`}
      <a class="button" href=${around}>Read from here</a>
    </div>
  </div>`;
}
