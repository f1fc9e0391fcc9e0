// The form that writes a record. "Send again" opens it with the content of another one: as it is shown where that can be
// typed, else byte by byte, as hexadecimal digits.
import { html, useEffect, useState } from "../../core/dom.js";
import { api } from "../../core/api.js";
import { laidOut } from "../../core/pretty.js";
import { useAction, useResource } from "../../core/resource.js";
import { FormDialog } from "../../parts/dialog.js";
import { AreaField, CheckField, SelectField, TextField } from "../../parts/form.js";
import { Failure, Remark, Waiting } from "../../parts/page.js";
import { Pairs } from "../../parts/pairs.js";
import { say } from "../../parts/toast.js";
import { readWhole } from "./reader.js";

const USUAL = ["text", "json", "hex", "base64"];
const REGISTERED = ["avro", "json-schema", "protobuf"];

const isNull = (part) => part?.text === null || part?.text === undefined;

/** Return the state of a key or value: {none, format, text, schema}. */
function typed(part, format) {
  if (!part) return { none: false, format, text: "", schema: "" };
  if (isNull(part)) return { none: true, format, text: "", schema: "" };
  const shown = part.format === "json" || REGISTERED.includes(part.format) ? laidOut(part.text) : part.text;
  return { none: false, format: part.format, text: shown, schema: String(part.schema?.id ?? "") };
}

/** "12" → {id: 12}; "orders-value" → its newest version. */
const schemaOf = (text) => (/^\d+$/.test(text) ? { id: Number(text) } : { subject: text });

/** The fields of a key or a value. */
function Side({ name, side, formats, none, rows, onChange }) {
  const set = (field) => (value) => onChange({ ...side, [field]: value });
  const title = name === "key" ? "Key" : "Value";
  return html`<div class="fields">
      <${SelectField} label=${`${title} as`} value=${side.format} options=${formats} disabled=${side.none} onChange=${set("format")} />
      ${REGISTERED.includes(side.format) &&
      html`<${TextField} label=${`Schema of the ${name}`} placeholder=${`the newest of TOPIC-${name}`} hint="Its id, or a subject." value=${side.schema} onChange=${set("schema")} />`}
      <${CheckField} label=${none} checked=${side.none} onChange=${set("none")} />
    </div>
    ${!side.none && html`<${AreaField} label=${title} rows=${rows} value=${side.text} onChange=${set("text")} />`}`;
}

/** Return the fields of a request for a key or a value. */
function asked(name, side) {
  const fields = { [name]: side.none ? null : side.text, [`${name}Format`]: side.format };
  if (!side.none && side.schema && REGISTERED.includes(side.format)) fields[`${name}Schema`] = schemaOf(side.schema);
  return fields;
}

function Form({ topic, record, formats, onClose }) {
  const [partition, setPartition] = useState(record ? String(record.partition) : "");
  const [key, setKey] = useState(record ? typed(record.key, "text") : { ...typed(null, "text"), none: true });
  const [value, setValue] = useState(typed(record?.value, "json"));
  const [headers, setHeaders] = useState((record?.headers ?? []).map((one) => [one.key, one.value?.text ?? ""]));
  const [written, setWritten] = useState(null);
  async function produce() {
    setWritten(null);
    const answer = await api.post("messages", {
      topic: topic.name,
      partition: partition === "" ? null : Number(partition),
      ...asked("key", key),
      ...asked("value", value),
      headers: headers.filter(([name]) => name).map(([name, text]) => ({ key: name, value: text })),
    });
    setWritten(answer);
    say(`Written to partition ${answer.partition} at offset ${answer.offset}.`);
  }
  const cut = record?.key?.truncated || record?.value?.truncated;
  const partitions = topic.partitions.map((one) => [String(one.partition), String(one.partition)]);
  return html`<${FormDialog} title=${record ? `Send again to ${topic.name}` : `Produce to ${topic.name}`} verb="Send" wide stay
    onSubmit=${produce} onClose=${onClose}>
    ${cut && html`<${Remark} tone="warning">Only the beginning of this record was read: what is sent is shorter.<//>`}
    <div class="fields">
      <${SelectField} label="Partition" value=${partition} options=${[["", "by the key"], ...partitions]} onChange=${setPartition} />
    </div>
    <${Side} name="key" side=${key} formats=${formats} none="No key" rows=${2} onChange=${setKey} />
    <${Side} name="value" side=${value} formats=${formats} none="No value: deletes the key of a compacted topic" rows=${10} onChange=${setValue} />
    <${Pairs} label="Headers" names=${["Header", "Text"]} pairs=${headers} add="Add a header" onChange=${setHeaders} />
    ${written && html`<${Remark} tone="ok">Written to partition ${written.partition} at offset ${written.offset}.<//>`}
  <//>`;
}

/** Return the record in formats that can be typed: its bytes where it is shown in another one, or was cut. */
async function typeable(topic, record, formats) {
  const fits = (part) => !part || isNull(part) || (formats.includes(part.format) && !part.truncated);
  const wanted = { keyFormat: fits(record.key) ? record.key?.format : "hex", valueFormat: fits(record.value) ? record.value?.format : "hex" };
  if (fits(record.key) && fits(record.value)) return record;
  return readWhole(topic.name, record, Object.fromEntries(Object.entries(wanted).filter(([, format]) => formats.includes(format))));
}

/** The dialog; it stays open, so that several records can be written. *record* gives the first content. */
export function ProduceDialog({ topic, record = null, onClose }) {
  const { data, error } = useResource("messages/formats");
  const formats = data?.producible ?? (error ? USUAL : null);
  const [first, setFirst] = useState(null);
  const load = useAction(async () => setFirst(await typeable(topic, record, formats)));
  useEffect(() => {
    if (formats && record) load.run();
  }, [formats === null]);
  if (load.error) {
    return html`<${FormDialog} title=${`Send again to ${topic.name}`} verb="Send" ready=${false} onClose=${onClose}>
      <${Failure} error=${load.error} />
    <//>`;
  }
  if (!formats || (record && !first)) return html`<${Waiting} rows=${2} />`;
  return html`<${Form} topic=${topic} record=${first} formats=${formats} onClose=${onClose} />`;
}
