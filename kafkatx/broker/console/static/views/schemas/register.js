// The dialog that registers a schema: what differs from the newest version, whether it is compatible, then the registration.
import { html, useState } from "../../core/dom.js";
import { api, path } from "../../core/api.js";
import { laidOut } from "../../core/pretty.js";
import { useAction } from "../../core/resource.js";
import { go } from "../../core/router.js";
import { Difference } from "../../parts/code.js";
import { FormDialog } from "../../parts/dialog.js";
import { AreaField, SelectField, TextField } from "../../parts/form.js";
import { Failure, Remark } from "../../parts/page.js";
import { say } from "../../parts/toast.js";

const TYPES = ["AVRO", "JSON", "PROTOBUF"];
const FIRST = `{
  "type": "record",
  "name": "Order",
  "fields": [
    {"name": "id", "type": "long"}
  ]
}`;

/** What the check has said. */
const Verdict = ({ verdict }) =>
  verdict &&
  html`<${Remark} tone=${verdict.compatible ? "ok" : "warning"}>
    <p>${verdict.compatible ? "It is compatible: readers and writers go on." : "It is not compatible, so it would be refused:"}</p>
    ${(verdict.messages ?? []).map((message) => html`<p>${message}</p>`)}
  <//>`;

/** The dialog; *newest* is the version before, or nothing for a new subject. */
export function RegisterDialog({ subject: known = "", newest = null, onDone = () => {}, onClose }) {
  const before = newest ? laidOut(newest.schema) : "";
  const [subject, setSubject] = useState(known);
  const [type, setType] = useState(newest?.type ?? "AVRO");
  const [schema, setSchema] = useState(before || FIRST);
  const [verdict, setVerdict] = useState(null);
  const body = () => ({ type, schema, references: newest?.references ?? [] });
  const check = useAction(async () => setVerdict(await api.post(path("schemas", subject, "check"), body())));
  async function register() {
    const { id, version } = await api.post(path("schemas", subject, "versions"), body());
    say(`${subject} has version ${version ?? ""}, id ${id}.`);
    onDone();
    go(["schemas", subject], version ? { version: String(version), with: version > 1 ? String(version - 1) : "" } : {});
  }
  const edited = (text) => {
    setVerdict(null);
    setSchema(text);
  };
  return html`<${FormDialog} title=${newest ? `New version of ${subject}` : "Register a schema"} verb="Register" wide ready=${subject !== "" && schema.trim() !== ""} onSubmit=${register} onClose=${onClose}
    beside=${html`<button type="button" class="button left" disabled=${!subject || check.busy}
      onClick=${() => check.run()}>Check compatibility</button>`}>
    ${!known &&
    html`<div class="fields">
      <${TextField} label="Subject" hint="TOPIC-value or TOPIC-key, as clients name them." value=${subject}
        onChange=${setSubject} />
      <${SelectField} label="Type" value=${type} options=${TYPES} onChange=${setType} />
    </div>`}
    <${AreaField} label="Schema" rows=${14} value=${schema} onChange=${edited} />
    <${Verdict} verdict=${verdict} />
    <${Failure} error=${check.error} />
    ${newest && schema !== before && html`<${Difference} before=${before} after=${schema}
      beforeLabel=${`version ${newest.version}`} afterLabel="this text" />`}
  <//>`;
}
