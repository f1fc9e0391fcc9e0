// The users that log in with a name and a password, and the mechanisms they have one for.
import { html, useState } from "../../core/dom.js";
import { api, path, query } from "../../core/api.js";
import { readOnly } from "../../core/session.js";
import { count } from "../../core/text.js";
import { Badge } from "../../parts/badge.js";
import { Confirm, FormDialog, useDialog } from "../../parts/dialog.js";
import { SelectField, TextField } from "../../parts/form.js";
import { Icon } from "../../parts/icon.js";
import { ListTable, useList } from "../../parts/list_page.js";
import { Empty, Page } from "../../parts/page.js";
import { say } from "../../parts/toast.js";

const MECHANISMS = ["SCRAM-SHA-256", "SCRAM-SHA-512"];

function UserDialog({ user, onDone, onClose }) {
  const [name, setName] = useState(user?.name ?? "");
  const [mechanism, setMechanism] = useState(MECHANISMS[0]);
  const [password, setPassword] = useState("");
  async function save() {
    await api.put(path("users", name), { mechanism, password, iterations: 8192 });
    say(`${name} logs in with that password from now on.`);
    onDone();
  }
  return html`<${FormDialog} title=${user ? `Password of ${user.name}` : "Add a user"} verb="Save"
    ready=${name !== "" && password !== ""} onSubmit=${save} onClose=${onClose}>
    ${!user && html`<${TextField} label="Name" value=${name} onChange=${setName} />`}
    <${SelectField} label="Mechanism" value=${mechanism} options=${MECHANISMS} onChange=${setMechanism} />
    <${TextField} label="Password" type="password" autocomplete="new-password" value=${password}
      onChange=${setPassword} hint="The broker keeps what checks it, not the password." />
  <//>`;
}

function DeleteDialog({ user, onDone, onClose }) {
  const [mechanism, setMechanism] = useState("");
  const all = user.mechanisms.map((one) => one.mechanism);
  async function remove() {
    for (const one of mechanism ? [mechanism] : all) await api.delete(`${path("users", user.name)}${query({ mechanism: one })}`);
    say(mechanism ? `${user.name} cannot log in by ${mechanism} any more.` : `${user.name} is deleted.`);
    onDone();
  }
  return html`<${Confirm} title=${`Delete ${user.name}`} verb="Delete" word=${user.name} onConfirm=${remove} onClose=${onClose}>
    ${all.length > 1 && html`<${SelectField} label="Which passwords" value=${mechanism}
      options=${[["", "all"], ...all]} onChange=${setMechanism} />`}
    <p>Connections that are open stay open; new logins fail. Its ACLs stay.</p>
  <//>`;
}

const columns = (open) => () => [
  { key: "name", title: "User", sort: "name", class: "name" },
  { key: "mechanisms", title: "Logs in by", cell: (user) => html`<span class="badges">
    ${user.mechanisms.map((one) => html`<${Badge}>${one.mechanism}, ${count(one.iterations)} rounds<//>`)}</span>` },
  !readOnly.value && {
    key: "change",
    title: html`<span class="hidden-text">Change</span>`,
    align: "right",
    cell: (user) => html`<button type="button" class="button quiet small"
      aria-label=${`Set the password of ${user.name}`} onClick=${() => open("edit", user)}>
      <${Icon} name="edit" size=${15} /> Password</button>
      <button type="button" class="button quiet small" aria-label=${`Delete ${user.name}`}
        onClick=${() => open("delete", user)}><${Icon} name="trash" size=${15} /> Delete</button>`,
  },
].filter(Boolean);

/** The view. */
export function Users() {
  const list = useList("users", { sort: "name" });
  const { dialog, open, close } = useDialog();
  const add = !readOnly.value && html`<button type="button" class="button primary" onClick=${() => open("edit")}>
    <${Icon} name="plus" /> Add a user</button>`;
  return html`<${Page} title="Users" actions=${add} note="SCRAM users of this cluster. What they may do is said by ACLs.">
    <${ListTable} list=${list} things="users" columns=${columns(open)} keyOf=${(user) => user.name}
      none=${html`<${Empty} icon="users" title="No users yet" action=${add}>
        They log in on listeners with SASL; anonymous clients need none.<//>`} />
    ${dialog?.name === "edit" && html`<${UserDialog} user=${dialog.value} onDone=${list.reload} onClose=${close} />`}
    ${dialog?.name === "delete" && html`<${DeleteDialog} user=${dialog.value} onDone=${list.reload} onClose=${close} />`}
  <//>`;
}
