// Filters that the reader keeps in this browser, for each topic.
import { html, useState } from "../../core/dom.js";
import { keep, kept } from "../../core/kept.js";
import { SelectField } from "../../parts/form.js";

const MOST = 20;

const name = (topic) => `filters-${topic}`;

/** Return the filters that are kept for a topic, the newest first. */
export function savedFilters(topic) {
  try {
    const found = JSON.parse(kept(name(topic), "[]"));
    return Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** Keep *filter* for a topic, or forget it if it is kept; return those that are kept then. */
export function toggleFilter(topic, filter) {
  const others = savedFilters(topic).filter((one) => one !== filter);
  const found = others.length < savedFilters(topic).length ? others : [filter, ...others].slice(0, MOST);
  keep(name(topic), found.length ? JSON.stringify(found) : null);
  return found;
}

/** The choice of a kept filter, and the button that keeps the present one or forgets it. */
export function SavedFilters({ topic, filter, onChoose }) {
  const [saved, setSaved] = useState(() => savedFilters(topic));
  const isSaved = saved.includes(filter);
  return html`${saved.length > 0 && html`<${SelectField} label="Saved filters" value=${isSaved ? filter : ""}
      options=${[["", "choose"], ...saved]} onChange=${(chosen) => chosen && onChoose(chosen)} />`}
    ${filter && html`<button type="button" class="button quiet" onClick=${() => setSaved(toggleFilter(topic, filter))}>
      ${isSaved ? "Forget filter" : "Save filter"}</button>`}`;
}
