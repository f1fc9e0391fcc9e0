// Quotas: how much a user, a client id or an address may send, receive and use.
import { html, useState } from "../../core/dom.js";
import { api } from "../../core/api.js";
import { readOnly } from "../../core/session.js";
import { bytes, count } from "../../core/text.js";
import { Confirm, FormDialog, useDialog } from "../../parts/dialog.js";
import { TextField } from "../../parts/form.js";
import { Icon } from "../../parts/icon.js";
import { ListTable, useList } from "../../parts/list_page.js";
import { Empty, Page, Remark } from "../../parts/page.js";
import { say } from "../../parts/toast.js";

const KINDS = [
  ["producer_byte_rate", "Produce", "bytes per second", (value) => `${bytes(value)}/s`],
  ["consumer_byte_rate", "Fetch", "bytes per second", (value) => `${bytes(value)}/s`],
  ["request_percentage", "Requests", "percent of a thread's time", (value) => `${value}%`],
  ["controller_mutation_rate", "Changes", "partitions created or deleted per second", (value) => `${value}/s`],
  ["connection_creation_rate", "Connections", "new ones per second, of an address", (value) => `${count(value)}/s`],
];
const PARTS = [["user", "User"], ["clientId", "Client id"], ["ip", "Address"]];
const DEFAULT = "<default>";

/** null in an entity is the default of its kind; a part that is missing is not of it. */
const shown = (name) => (name === null || name === DEFAULT ? "every other" : name);

function Entity({ entity }) {
  return PARTS.filter(([key]) => entity[key] !== undefined).map(
    ([key, title], place) => html`${place > 0 && ", "}<span class="muted">${title.toLowerCase()}</span> ${shown(entity[key])}`,
  );
}

const plain = (entity) => PARTS.filter(([key]) => entity[key] !== undefined).map(([key, title]) => `${title.toLowerCase()} ${shown(entity[key])}`).join(", ");

function QuotaDialog({ row, onDone, onClose }) {
  const [entity, setEntity] = useState({ user: "", clientId: "", ip: "" });
  const [values, setValues] = useState(Object.fromEntries(KINDS.map(([key]) => [key, row?.quotas[key] === undefined ? "" : String(row.quotas[key])])));
  const named = row ? row.entity : Object.fromEntries(Object.entries(entity).filter(([, name]) => name !== "").map(([key, name]) => [key, name === "*" ? null : name]));
  const wrong = Object.values(values).some((value) => value !== "" && !(Number(value) >= 0));
  async function save() {
    const set = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "").map(([key, value]) => [key, Number(value)]));
    const gone = Object.keys(row?.quotas ?? {}).filter((key) => values[key] === "");
    await api.put("quotas", { entity: named, set, delete: gone });
    say(`Quotas of ${plain(named)} are set.`);
    onDone();
  }
  return html`<${FormDialog} title=${row ? `Quotas of ${plain(row.entity)}` : "Add a quota"} verb="Save"
    ready=${Object.keys(named).length > 0 && !wrong} onSubmit=${save} onClose=${onClose}>
    ${!row && html`<div class="fields">${PARTS.map(([key, title]) => html`<${TextField} label=${title}
      value=${entity[key]} hint="* for every other" onChange=${(value) => setEntity({ ...entity, [key]: value })} />`)}</div>
      ${entity.ip && (entity.user || entity.clientId) && html`<${Remark} tone="warning">
        An address stands alone: it has no user and no client id.<//>`}`}
    <div class="fields">${KINDS.map(([key, title, unit]) => html`<${TextField} label=${title} hint=${unit}
      inputmode="decimal" placeholder="no limit" value=${values[key]}
      onChange=${(value) => setValues({ ...values, [key]: value })} />`)}</div>
    ${wrong && html`<${Remark} tone="warning">A limit is a number that is not negative.<//>`}
  <//>`;
}

const columns = (open) => () => [
  { key: "entity", title: "Of", class: "name", cell: (row) => html`<${Entity} entity=${row.entity} />` },
  ...KINDS.map(([key, title, , text]) => ({ key, title, align: "right", hide: key.endsWith("byte_rate") ? "narrow" : "wide", cell: (row) => (row.quotas[key] === undefined ? html`<span
    class="muted">no limit</span>` : text(row.quotas[key])) })),
  !readOnly.value && {
    key: "change",
    title: html`<span class="hidden-text">Change</span>`,
    align: "right",
    cell: (row) => html`<button type="button" class="button quiet small"
      aria-label=${`Change the quotas of ${plain(row.entity)}`} onClick=${() => open("edit", row)}>
      <${Icon} name="edit" size=${15} /> Change</button>
      <button type="button" class="button quiet small" aria-label=${`Delete the quotas of ${plain(row.entity)}`}
        onClick=${() => open("delete", row)}><${Icon} name="trash" size=${15} /> Delete</button>`,
  },
].filter(Boolean);

/** The view. */
export function Quotas() {
  const list = useList("quotas");
  const { dialog, open, close } = useDialog();
  const add = !readOnly.value && html`<button type="button" class="button primary" onClick=${() => open("edit")}>
    <${Icon} name="plus" /> Add a quota</button>`;
  async function remove() {
    await api.put("quotas", { entity: dialog.value.entity, set: {}, delete: Object.keys(dialog.value.quotas) });
    say("The quotas are deleted.");
    list.reload();
  }
  return html`<${Page} title="Quotas" actions=${add} note="Clients above their quota are slowed down, not refused.">
    <${ListTable} list=${list} things="quotas" columns=${columns(open)} keyOf=${(row) => plain(row.entity)}
      none=${html`<${Empty} icon="quotas" title="No quotas yet" action=${add}>Every client may use all there is.<//>`} />
    ${dialog?.name === "edit" && html`<${QuotaDialog} row=${dialog.value} onDone=${list.reload} onClose=${close} />`}
    ${dialog?.name === "delete" && html`<${Confirm} title="Delete quotas" verb="Delete" onConfirm=${remove}
      onClose=${close}><p>${plain(dialog.value.entity)} may use all there is.</p><//>`}
  <//>`;
}
