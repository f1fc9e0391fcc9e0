// The frame of a view: where it is, its title, what can be done, and what there is to say before its data.
import { html, useEffect, useRef } from "../core/dom.js";
import { href } from "../core/router.js";
import { Icon } from "./icon.js";

/** A view with a heading. *crumbs* are [text, segments] of the pages above; the heading takes the focus on arrival. */
export function Page({ title, crumbs = [], note, actions, children }) {
  const heading = useRef(null);
  useEffect(() => {
    document.title = `${title} · kafkatx`;
  }, [title]);
  useEffect(() => {
    window.scrollTo(0, 0);
    const busy = document.activeElement;
    if (!busy || busy === document.body || !busy.isConnected || busy.closest("nav, header, .trail, table")) {
      heading.current?.focus({ preventScroll: true });
    }
  }, []);
  return html`<article class="page">
    <header class="page-head">
      <div class="page-title">
        ${crumbs.length > 0 &&
        html`<nav class="trail" aria-label="Above this page">
          ${crumbs.map(([text, segments], place) => html`${place > 0 && html`<span aria-hidden="true">/</span>`}<a href=${href(segments)}>${text}</a>`)}
        </nav>`}
        <h1 tabindex="-1" ref=${heading}>${title}</h1>
        ${note && html`<p class="note">${note}</p>`}
      </div>
      ${actions && html`<div class="page-actions">${actions}</div>`}
    </header>
    ${children}
  </article>`;
}

/** A titled part of a view. */
export const Section = ({ title, note, actions, plain = false, children }) => html`<section class="section">
  ${(title || actions) &&
  html`<header class="section-head">
    <h2>${title}</h2>
    ${note && html`<p class="note">${note}</p>`}
    ${actions && html`<div class="section-actions">${actions}</div>`}
  </header>`}
  <div class=${plain ? "stack" : "card stack"}>${children}</div>
</section>`;

/** What a view says while it has nothing to show, and what to do next. */
export const Empty = ({ icon = "topics", title, children, action }) => html`<div class="empty">
  <span class="empty-icon"><${Icon} name=${icon} size=${28} /></span>
  <p class="empty-title">${title}</p>
  <div class="empty-text">${children}</div>
  ${action}
</div>`;

/** Why something failed, beside where it was asked for. */
export const Failure = ({ error, retry }) =>
  error &&
  html`<div class="message message-error" role="alert">
    <${Icon} name="warning" />
    <p>${error.message} ${error.code && error.code !== "HTTP" && html`<code>${error.code}</code>`}</p>
    ${retry && html`<button type="button" class="button small" onClick=${retry}>Try again</button>`}
  </div>`;

/** A remark that is no failure. */
export const Remark = ({ tone = "info", children }) => html`<div class=${`message message-${tone}`}>
  <${Icon} name=${tone === "ok" ? "check" : "warning"} />
  <div>${children}</div>
</div>`;

/** Grey bars where data will be. */
export const Waiting = ({ rows = 4 }) => html`<div class="waiting" role="status">
  <span class="hidden-text">Loading</span>
  ${Array.from({ length: rows }, () => html`<span class="bar"></span>`)}
</div>`;

/** The data of a resource as *children(data)*, or that it is awaited, or why it failed. */
export function Loaded({ resource, rows, children }) {
  const { data, error, reload } = resource;
  if (error && data === null) return html`<${Failure} error=${error} retry=${reload} />`;
  if (data === null) return html`<${Waiting} rows=${rows} />`;
  return html`${error && html`<${Failure} error=${error} retry=${reload} />`}${children(data)}`;
}
