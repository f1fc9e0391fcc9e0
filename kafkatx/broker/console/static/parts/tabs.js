// The parts of one thing, as links: each has its own address.
import { html } from "../core/dom.js";
import { href } from "../core/router.js";

/** *tabs* are [key, text, segments, number or nothing]. */
export const Tabs = ({ label, tabs, current }) => html`<nav class="tabs" aria-label=${label}>
  ${tabs.map(
    ([key, text, segments, number]) => html`<a href=${href(segments)} aria-current=${key === current ? "page" : undefined}>
      ${text}${" "}${number !== undefined && number !== null && html`<span class="tab-number">${number}</span>`}
    </a>`,
  )}
</nav>`;
