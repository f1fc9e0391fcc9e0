// The subjects of the schema registry that is in this broker.
import { html } from "../../core/dom.js";
import { href } from "../../core/router.js";
import { readOnly } from "../../core/session.js";
import { Badge } from "../../parts/badge.js";
import { useDialog } from "../../parts/dialog.js";
import { Icon } from "../../parts/icon.js";
import { ListTable, useList } from "../../parts/list_page.js";
import { Empty, Page } from "../../parts/page.js";
import { RegisterDialog } from "./register.js";

const columns = () => [
  { key: "subject", title: "Subject", sort: "subject", class: "name", cell: (row) => html`<a
    href=${href(["schemas", row.subject])}>${row.subject}</a>` },
  { key: "type", title: "Type", sort: "type", cell: (row) => html`<${Badge}>${row.type}<//>` },
  { key: "latestVersion", title: "Versions", sort: "latestVersion", align: "right" },
  { key: "id", title: "Newest id", sort: "id", align: "right", hide: "narrow" },
  { key: "compatibility", title: "Compatibility", hide: "medium", cell: (row) => row.compatibility },
];

/** The view. */
export function Schemas() {
  const list = useList("schemas", { sort: "subject" });
  const { dialog, open, close } = useDialog();
  const register = !readOnly.value && html`<button type="button" class="button primary"
    onClick=${() => open("register")}><${Icon} name="plus" /> Register a schema</button>`;
  return html`<${Page} title="Schemas" actions=${register}>
    <${ListTable} list=${list} things="subjects" columns=${columns} keyOf=${(row) => row.subject}
      none=${html`<${Empty} icon="schemas" title="No schemas yet" action=${register}>
        Clients of Confluent's schema registry find it at this address; what they register is listed here.<//>`} />
    ${dialog && html`<${RegisterDialog} onClose=${close} />`}
  <//>`;
}
