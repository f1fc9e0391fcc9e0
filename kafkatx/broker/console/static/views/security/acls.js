// Access control lists: who may or may not do what; all of them, or those of one resource.
import { html, useState } from "../../core/dom.js";
import { api, query } from "../../core/api.js";
import { useResource } from "../../core/resource.js";
import { href } from "../../core/router.js";
import { readOnly } from "../../core/session.js";
import { NONE, words } from "../../core/text.js";
import { Badge } from "../../parts/badge.js";
import { Confirm, FormDialog, useDialog } from "../../parts/dialog.js";
import { SelectField, TextField } from "../../parts/form.js";
import { Icon } from "../../parts/icon.js";
import { ListTable, useList } from "../../parts/list_page.js";
import { Empty, Loaded, Page } from "../../parts/page.js";
import { LocalTable } from "../../parts/table.js";
import { say } from "../../parts/toast.js";

const TYPES = ["TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"];
const OPERATIONS = ["ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE"];
const NEW = { resourceType: "TOPIC", resourceName: "", patternType: "LITERAL", principal: "User:", host: "*", operation: "READ", permission: "ALLOW" };

const keyOf = (acl) => Object.keys(NEW).map((name) => acl[name]).join("|");

/** The sentence that an ACL says. */
function sentence(acl) {
  const names = acl.patternType === "PREFIXED" ? `${acl.resourceName}…` : acl.resourceName;
  return `${acl.principal} ${acl.permission === "DENY" ? "may not" : "may"} ${words(acl.operation)} ${words(acl.resourceType)} ${names}${acl.host === "*" ? "" : ` from ${acl.host}`}`;
}

const columns = (open) => [
  { key: "principal", title: "Who", sort: "principal", class: "name", cell: (acl) => acl.principal },
  { key: "permission", title: "Permission", cell: (acl) => html`<${Badge}
    tone=${acl.permission === "DENY" ? "error" : "ok"}>${acl.permission === "DENY" ? "denied" : "allowed"}<//>` },
  { key: "operation", title: "Operation", sort: "operation", cell: (acl) => words(acl.operation) },
  {
    key: "resourceName",
    title: "Resource",
    sort: "resourceName",
    class: "name",
    cell: (acl) => html`<span class="muted">
      ${words(acl.resourceType)}</span> ${acl.resourceType === "TOPIC" && acl.patternType === "LITERAL" && acl.resourceName !== "*"
      ? html`<a href=${href(["topics", acl.resourceName])}>
        ${acl.resourceName}</a>` : acl.resourceName}${acl.patternType === "PREFIXED" && html` <${Badge}>prefix<//>`}`,
  },
  { key: "host", title: "From", hide: "medium", cell: (acl) => (acl.host === "*" ? html`<span class="muted">
    anywhere</span>` : (acl.host ?? NONE)) },
  !readOnly.value && {
    key: "delete",
    title: html`<span class="hidden-text">Delete</span>`,
    align: "right",
    cell: (acl) => html`<button type="button" class="button quiet small" aria-label=${`Delete: ${sentence(acl)}`}
      onClick=${() => open("delete", acl)}><${Icon} name="trash" size=${15} /> <span class="hide-narrow">Delete</span></button>`,
  },
].filter(Boolean);

function CreateAcl({ first, onDone, onClose }) {
  const [acl, setAcl] = useState({ ...NEW, ...first });
  const set = (name) => (value) => setAcl({ ...acl, [name]: value });
  const wrong = /^[^:]+:.+$/.test(acl.principal) || acl.principal === "User:" ? null : "A type and a name: User:alice, or User:* for everybody.";
  async function create() {
    await api.post("acls", acl.resourceType === "CLUSTER" ? { ...acl, resourceName: "kafka-cluster", patternType: "LITERAL" } : acl);
    say(`${sentence(acl)}.`);
    onDone();
  }
  const named = acl.resourceType === "CLUSTER" || acl.resourceName !== "";
  return html`<${FormDialog} title="Add an ACL" verb="Add" ready=${!wrong && acl.principal !== "User:" && named}
    onSubmit=${create} onClose=${onClose}>
    <${TextField} label="Who" value=${acl.principal} error=${wrong} hint="User:alice, or User:* for everybody."
      onChange=${set("principal")} />
    <div class="fields">
      <${SelectField} label="Permission" value=${acl.permission} options=${[["ALLOW", "allow"], ["DENY", "deny"]]}
        onChange=${set("permission")} />
      <${SelectField} label="Operation" value=${acl.operation} options=${OPERATIONS.map((one) => [one, words(one)])}
        onChange=${set("operation")} />
    </div>
    <div class="fields">
      <${SelectField} label="Resource" value=${acl.resourceType} options=${TYPES.map((one) => [one, words(one)])}
        onChange=${set("resourceType")} />
      ${acl.resourceType !== "CLUSTER" && html`<${SelectField} label="Name is" value=${acl.patternType}
        options=${[["LITERAL", "the whole name"], ["PREFIXED", "a prefix"]]} onChange=${set("patternType")} />`}
    </div>
    ${acl.resourceType !== "CLUSTER" && html`<${TextField} label="Name" value=${acl.resourceName}
      hint="* for all of them." onChange=${set("resourceName")} />`}
    <${TextField} label="From the address" value=${acl.host} hint="* for any." onChange=${set("host")} />
    <p class="note">${named && acl.principal !== "User:" ? `${sentence(acl)}.` : ""}</p>
  <//>`;
}

function Dialogs({ state, reload }) {
  const { dialog, close } = state;
  if (!dialog) return null;
  if (dialog.name === "create") return html`<${CreateAcl} first=${dialog.value} onDone=${reload} onClose=${close} />`;
  async function remove() {
    await api.delete("acls", Object.fromEntries(Object.keys(NEW).map((name) => [name, dialog.value[name]])));
    say("The ACL is deleted.");
    reload();
  }
  return html`<${Confirm} title="Delete an ACL" verb="Delete it" onConfirm=${remove} onClose=${close}>
    <p>${sentence(dialog.value)}: this stops at once.</p>
  <//>`;
}

const Add = ({ open, first }) => !readOnly.value && html`<button type="button" class="button primary"
  onClick=${() => open("create", first)}><${Icon} name="plus" /> Add an ACL</button>`;

/** What a broker without an authorizer says. */
const Off = () => html`<div class="card"><${Empty} icon="acls" title="There is no authorizer">
  Everybody may do everything. ACLs decide once the setting <code>authorizer.class.name</code> names one, for example <code>acl</code>.
<//></div>`;

const isOff = ({ data, error }) => error?.code === "SECURITY_DISABLED" || data?.authorizer === false;

/** The ACLs of one resource, for its own page. */
export function AclsOf({ type, name }) {
  const resource = useResource(`acls${query({ count: 1000 })}`);
  const state = useDialog();
  const first = { resourceType: type, resourceName: name };
  const fits = (acl) =>
    acl.resourceType === type && (acl.resourceName === "*" || (acl.patternType === "PREFIXED" ? name.startsWith(acl.resourceName) : acl.resourceName === name));
  if (isOff(resource)) return html`<${Off} />`;
  return html`<${Loaded} resource=${resource}>
      ${({ items }) => {
        const rows = items.filter(fits);
        if (!rows.length) return html`<div class="card"><${Empty} icon="acls" title="No ACL names it"
          action=${html`<${Add} open=${state.open} first=${first} />`}>
          Without an authorizer everybody may do everything; with one, nobody but super users may do anything here.<//></div>`;
        return html`<div class="toolbar"><${Add} open=${state.open} first=${first} /></div>
          <div class="card flush"><${LocalTable} caption=${`ACLs of ${name}`} columns=${columns(state.open)}
            rows=${rows} first="principal" keyOf=${keyOf} /></div>`;
      }}
    <//>
    <${Dialogs} state=${state} reload=${resource.reload} />`;
}

/** The view. */
export function Acls() {
  const list = useList("acls", { sort: "principal" });
  const state = useDialog();
  if (isOff(list)) return html`<${Page} title="ACLs"><${Off} /><//>`;
  const add = html`<${Add} open=${state.open} />`;
  return html`<${Page} title="ACLs" actions=${add}
    note="A denial is stronger than any permission. This console asks the same rules for everything that its user does.">
    <${ListTable} list=${list} things="ACLs" columns=${() => columns(state.open)} keyOf=${keyOf}
      none=${html`<${Empty} icon="acls" title="No ACLs yet" action=${add}>Only super users may do anything so far.<//>`} />
    <${Dialogs} state=${state} reload=${list.reload} />
  <//>`;
}
