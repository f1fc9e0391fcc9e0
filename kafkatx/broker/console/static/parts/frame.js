// The frame around every view: the navigation, who is here, whether numbers are live, and the theme.
import { html, names, useEffect, useState } from "../core/dom.js";
import { connection, useLive } from "../core/events.js";
import { href, route } from "../core/router.js";
import { logOut, readOnly, session } from "../core/session.js";
import { timeZone } from "../core/text.js";
import { choice, choose } from "../core/theme.js";
import { chooseZone, zone } from "../core/zone.js";
import { Dot } from "./badge.js";
import { Icon } from "./icon.js";

const PLACES = [
  [
    "Cluster",
    [
      ["", "Overview", "overview"],
      ["topics", "Topics", "topics"],
      ["groups", "Groups", "groups"],
      ["schemas", "Schemas", "schemas"],
      ["brokers", "Brokers", "brokers"],
      ["mirrors", "Mirrors", "mirrors"],
      ["transactions", "Transactions", "transactions"],
    ],
  ],
  [
    "Access",
    [
      ["acls", "ACLs", "acls"],
      ["users", "Users", "users"],
      ["quotas", "Quotas", "quotas"],
      ["actions", "Actions", "actions"],
    ],
  ],
];

const THEMES = [
  ["light", "Light", "sun"],
  ["dark", "Dark", "moon"],
  ["system", "As the system", "system"],
];

const CONNECTIONS = {
  live: ["ok", "Live"],
  idle: ["plain", "Connected"],
  connecting: ["plain", "Connecting"],
  lost: ["warning", "No answer"],
};

function Places() {
  const here = route.value.segments[0] ?? "";
  const problems = useLive("overview")?.problems?.length ?? 0;
  return html`<nav class="nav" id="places" aria-label="Console">
    ${PLACES.map(
      ([title, places]) => html`<h2>${title}</h2>
        <ul>
          ${places.map(
            ([segment, text, icon]) => html`<li>
              <a href=${href(segment ? [segment] : [])} aria-current=${segment === here ? "page" : undefined}>
                <${Icon} name=${icon} />${text}${segment === "" && problems > 0 && html`<span class="nav-mark">${problems}<span class="hidden-text"> problems</span></span>`}</a>
            </li>`,
          )}
        </ul>`,
    )}
  </nav>`;
}

function Foot() {
  const { principal, version, brokerId, authentication } = session.value;
  const [tone, word] = CONNECTIONS[connection.value];
  return html`<div class="side-foot">
    <div class="who">
      <${Dot} tone=${tone}>${word}<//>
      <div class="themes" role="group" aria-label="Theme">
        ${THEMES.map(
          ([key, label, icon]) => html`<button type="button" class="button quiet icon-only" title=${label} aria-label=${`${label} theme`}
            aria-pressed=${choice.value === key ? "true" : "false"} onClick=${() => choose(key)}><${Icon}
              name=${icon} size=${15} /></button>`,
        )}
      </div>
    </div>
    ${authentication !== "none" &&
    html`<div class="who">
      <span title=${principal}>${principal}</span>
      <button type="button" class="button quiet small" onClick=${logOut}><${Icon} name="exit" size=${15} /> Log out</button>
    </div>`}
    <div class="who">
      <span class="muted">Times in ${timeZone()}</span>
      <button type="button" class="button quiet small" aria-pressed=${zone.value === "utc" ? "true" : "false"}
        onClick=${() => chooseZone(zone.value === "utc" ? "local" : "utc")}>UTC</button>
    </div>
    <span class="muted">kafkatx ${version}, broker ${brokerId}</span>
  </div>`;
}

/** The frame; *children* is the view. */
export function Frame({ children }) {
  const [open, setOpen] = useState(false);
  const address = route.value;
  useEffect(() => setOpen(false), [address]);
  return html`<div class="frame">
    <div class=${names("side", open && "open")}>
      <a class="brand" href="#/"><img src="static/icon.svg" alt="" width="26" height="26" />kafkatx</a>
      <button type="button" class="button menu-button" aria-expanded=${open ? "true" : "false"}
        aria-controls="places" onClick=${() => setOpen(!open)}>
        <${Icon} name="menu" /> Menu
      </button>
      <${Places} />
      <${Foot} />
    </div>
    <main id="main" tabindex="-1">
      ${connection.value === "lost" &&
      html`<div class="banner banner-lost" role="status">
        <${Icon} name="warning" size=${16} /> The broker does not answer. The console tries again by itself.</div>`}
      ${readOnly.value &&
      html`<div class="banner"><${Icon} name="acls" size=${16} />
        Read-only: this console shows everything and changes nothing (setting <code>kafkatx.console.read.only</code>).</div>`}
      ${children}
    </main>
  </div>`;
}
