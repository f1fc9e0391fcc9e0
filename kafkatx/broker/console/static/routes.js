// The views by address. A view's module is loaded when it is first shown.
import { api, isPassing } from "./core/api.js";
import { html, signal, useEffect } from "./core/dom.js";
import { Empty, Page } from "./parts/page.js";

const overview = () => import("./views/cluster/overview.js");
const topic = () => import("./views/topics/topic.js");

/** Patterns: a part that begins with ":" is a parameter of the view. Each names a module and its view. */
const ROUTES = [
  ["", overview, "Overview"],
  ["brokers", () => import("./views/cluster/brokers.js"), "Brokers"],
  ["brokers/:id", () => import("./views/cluster/broker.js"), "Broker"],
  ["actions", () => import("./views/cluster/actions.js"), "Actions"],
  ["topics", () => import("./views/topics/topics.js"), "Topics"],
  ["topics/:name", topic, "Topic"],
  ["topics/:name/:tab", topic, "Topic"],
  ["groups", () => import("./views/groups/groups.js"), "Groups"],
  ["groups/:id", () => import("./views/groups/group.js"), "Group"],
  ["schemas", () => import("./views/schemas/schemas.js"), "Schemas"],
  ["schemas/:subject", () => import("./views/schemas/subject.js"), "Subject"],
  ["mirrors", () => import("./views/cluster/mirrors.js"), "Mirrors"],
  ["transactions", () => import("./views/cluster/transactions.js"), "Transactions"],
  ["acls", () => import("./views/security/acls.js"), "Acls"],
  ["users", () => import("./views/security/users.js"), "Users"],
  ["quotas", () => import("./views/security/quotas.js"), "Quotas"],
];

const loaded = signal(new Map());

function matched(pattern, segments) {
  const parts = pattern ? pattern.split("/") : [];
  if (parts.length !== segments.length) return null;
  const parameters = {};
  for (const [place, part] of parts.entries()) {
    if (part.startsWith(":")) parameters[part.slice(1)] = segments[place];
    else if (part !== segments[place]) return null;
  }
  return parameters;
}

const Unknown = () => html`<${Page} title="No such page">
  <div class="card"><${Empty} icon="search" title="This address leads nowhere">
    <a class="button" href="#/">To the overview</a>
  <//></div>
<//>`;

const AGAIN_MS = 2000;

/** Load the page again once a broker that did not answer does. One that answers at once has another fault: a loop would not mend it. */
function useReload() {
  useEffect(() => {
    let timer;
    const ask = (away) => api.get("session").then(
      () => away && location.reload(),
      (error) => { if (isPassing(error)) timer = setTimeout(ask, AGAIN_MS, true); },
    );
    ask(false);
    return () => clearTimeout(timer);
  }, []);
}

function Unloaded() {
  useReload();
  return html`<${Page} title="Not loaded">
    <div class="card"><${Empty} icon="warning" title="The broker did not send this page">
      <button type="button" class="button" onClick=${() => location.reload()}>Load it again</button>
    <//></div>
  <//>`;
}

function keep(name, view) {
  loaded.value = new Map(loaded.value).set(name, view);
}

/** Return {view, parameters, key} of a route; view is null until its module is here. */
export function viewOf({ segments }) {
  for (const [pattern, load, name] of ROUTES) {
    const parameters = matched(pattern, segments);
    if (!parameters) continue;
    const key = `${name}|${parameters.name ?? parameters.id ?? parameters.subject ?? ""}`;
    const view = loaded.value.get(name);
    if (!view) load().then((module) => keep(name, module[name]), () => keep(name, Unloaded));
    return { view: view ?? null, parameters, key };
  }
  return { view: Unknown, parameters: {}, key: "unknown" };
}
