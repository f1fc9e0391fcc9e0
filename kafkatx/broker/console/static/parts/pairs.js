// Pairs of texts in a form: settings of a topic, headers of a record.
import { html } from "../core/dom.js";
import { Icon } from "./icon.js";

/** *pairs* are [name, value]; *names* are what the two are called. */
export function Pairs({ label, names, pairs, add, onChange }) {
  const changed = (place, part) => (event) => {
    const text = event.currentTarget.value;
    onChange(pairs.map((pair, other) => (other === place ? pair.with(part, text) : pair)));
  };
  return html`<fieldset class="headers-form">
    <legend>${label}</legend>
    ${pairs.map(
      ([name, value], place) => html`<div class="pair" key=${place}>
        <input aria-label=${`${names[0]} ${place + 1}`} placeholder=${names[0]} value=${name}
          onInput=${changed(place, 0)} spellcheck="false" autocomplete="off" />
        <input aria-label=${`${names[1]} ${place + 1}`} placeholder=${names[1]} value=${value}
          onInput=${changed(place, 1)} spellcheck="false" autocomplete="off" />
        <button type="button" class="button quiet icon-only"
          aria-label=${`Remove ${names[0].toLowerCase()} ${place + 1}`}
          onClick=${() => onChange(pairs.toSpliced(place, 1))}><${Icon} name="close" size=${15} /></button>
      </div>`,
    )}
    <div><button type="button" class="button small" onClick=${() => onChange([...pairs, ["", ""]])}>
      <${Icon} name="plus" size=${14} /> ${add}</button></div>
  </fieldset>`;
}
