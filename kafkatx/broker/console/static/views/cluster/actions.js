// What has been changed from this console: by whom, what, and how it ended. The broker's log has the same lines.
import { html } from "../../core/dom.js";
import { serverNow } from "../../core/session.js";
import { ago, time, timeZone } from "../../core/text.js";
import { Badge } from "../../parts/badge.js";
import { ListTable, useList } from "../../parts/list_page.js";
import { Empty, Page } from "../../parts/page.js";

const columns = () => [
  { key: "timeMs", title: "When", class: "one-line", cell: (action) => html`${time(action.timeMs)} <span
    class="muted hide-medium">${ago(action.timeMs, serverNow())}</span>` },
  { key: "principal", title: "Who", class: "name", hide: "narrow", cell: (action) => html`${action.principal} <span
    class="muted">${action.address}</span>` },
  { key: "action", title: "What", class: "name", cell: (action) => action.action },
  { key: "resource", title: "Of what", class: "name", cell: (action) => action.resource },
  {
    key: "result",
    title: "Result",
    cell: (action) => {
      const well = ["NONE", "OK", "ok", "done", null].includes(action.result);
      return html`<${Badge} tone=${well ? "ok" : "error"}>${well ? "done" : action.result}<//>`;
    },
  },
];

/** The view. */
export function Actions() {
  const list = useList("actions");
  return html`<${Page} title="Actions" note=${`What was done in this console, newest first. Times are in ${timeZone()}.`}>
    <${ListTable} list=${list} things="actions" columns=${columns} keyOf=${(action) => `${action.timeMs}|${action.action}|${action.resource}`}
      none=${html`<${Empty} icon="actions" title="Nothing has been changed yet">
        Whatever is created, altered, reset or deleted here is listed with who did it.<//>`} />
  <//>`;
}
