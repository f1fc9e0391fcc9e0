// What has just been done, said once at the corner and to screen readers.
import { html, signal } from "../core/dom.js";
import { Icon } from "./icon.js";

const SHOWN_MS = 6000;
const toasts = signal([]);
let next = 0;

const without = (id) => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
};

/** Say *text* for a few seconds. */
export function say(text) {
  next += 1;
  const id = next;
  toasts.value = [...toasts.value.slice(-3), { id, text }];
  setTimeout(() => without(id), SHOWN_MS);
}

/** The corner where it is said. */
export const Toasts = () => html`<div class="toasts" role="status" aria-live="polite">
  ${toasts.value.map(
    ({ id, text }) => html`<div class="toast" key=${id}>
      <${Icon} name="check" size=${16} /><span>${text}</span>
      <button type="button" class="button quiet icon-only" aria-label="Dismiss" onClick=${() => without(id)}>
        <${Icon} name="close" size=${14} /></button>
    </div>`,
  )}
</div>`;
