// Settings of a topic or a broker: value, where it comes from, what it means; changed one at a time.
import { html, useState } from "../core/dom.js";
import { readOnly } from "../core/session.js";
import { NONE, bytes, duration, words } from "../core/text.js";
import { Badge } from "./badge.js";
import { FormDialog, useDialog } from "./dialog.js";
import { CheckField, SelectField, TextField } from "./form.js";
import { Icon } from "./icon.js";
import { LocalTable, SearchBox } from "./table.js";
import { say } from "./toast.js";

const TONES = { DEFAULT_CONFIG: "plain", STATIC_BROKER_CONFIG: "plain" };

/** The value as it is written, and in a unit that people read. */
function Value({ config }) {
  if (config.sensitive) return html`<span class="muted">hidden</span>`;
  const { name, value } = config;
  if (value === null || value === "") return html`<span class="muted">${NONE}</span>`;
  const read = !/^-?\d{4,18}$/.test(value) ? null : name.endsWith(".ms") ? duration(value) : name.endsWith("bytes") ? bytes(value) : null;
  return html`<code>${value}</code>${read && html` <span class="muted">${read}</span>`}`;
}

function ConfigDialog({ config, onSet, onClose }) {
  const [value, setValue] = useState(config.sensitive ? "" : (config.value ?? ""));
  const boolean = config.type === "BOOLEAN";
  const control = boolean
    ? html`<${SelectField} label="Value" value=${value} options=${["true", "false"]} onChange=${setValue} />`
    : html`<${TextField} label="Value" wide value=${value} onChange=${setValue} />`;
  return html`<${FormDialog} title=${config.name} verb="Set" onSubmit=${() => onSet({ set: { [config.name]: value }, delete: [] })} onClose=${onClose}
    beside=${!TONES[config.source] &&
    html`<button type="button" class="button left" onClick=${async () => {
      await onSet({ set: {}, delete: [config.name] });
      onClose();
    }}>Back to the default</button>`}>
    <p class="note">${config.documentation}</p>
    ${control}
    ${config.default !== null && config.default !== undefined && html`<p class="note">
      Default: <code>${config.default === "" ? '""' : config.default}</code></p>`}
  <//>`;
}

/** The table of *configs*; *change({set, delete})* is async and is not given where nothing may be changed. */
export function Configs({ configs, change, caption }) {
  const [search, setSearch] = useState("");
  const [changedOnly, setChangedOnly] = useState(false);
  const { dialog, open, close } = useDialog();
  const wanted = search.toLowerCase();
  const shown = configs.filter(
    (config) =>
      (!changedOnly || !TONES[config.source]) &&
      (config.name.includes(wanted) || (config.documentation ?? "").toLowerCase().includes(wanted)),
  );
  const editable = change && !readOnly.value;
  const columns = [
    { key: "name", title: "Setting", sort: "name", class: "grow", cell: (config) => html`<code>${config.name}</code><span
      class="explained">${config.documentation}</span>` },
    { key: "value", title: "Value", class: "break", cell: (config) => html`<${Value} config=${config} />` },
    { key: "source", title: "Source", sort: "source", hide: "narrow", cell: (config) => html`<${Badge}
      tone=${TONES[config.source] ?? "accent"}>${words(config.source).replace(" config", "")}<//>` },
    editable && {
      key: "edit",
      title: html`<span class="hidden-text">Change</span>`,
      align: "right",
      cell: (config) => config.readOnly
        ? html`<span class="muted">fixed</span>`
        : html`<button type="button" class="button quiet small" aria-label=${`Change ${config.name}`}
          onClick=${() => open("set", config)}><${Icon} name="edit" size=${15} /> Change</button>`,
    },
  ].filter(Boolean);
  async function set(changes) {
    await change(changes);
    say(`${Object.keys(changes.set)[0] ?? changes.delete[0]} is changed.`);
  }
  return html`<div class="toolbar">
      <${SearchBox} label="Search settings" value=${search} onSearch=${setSearch} />
      <${CheckField} label="Changed ones only" checked=${changedOnly} onChange=${setChangedOnly} />
    </div>
    <div class="card flush">
      <${LocalTable} caption=${caption} columns=${columns} rows=${shown} first="name" keyOf=${(config) => config.name} />
      ${!shown.length && html`<p class="nothing">No setting matches.</p>`}
    </div>
    ${dialog && html`<${ConfigDialog} config=${dialog.value} onSet=${set} onClose=${close} />`}`;
}
