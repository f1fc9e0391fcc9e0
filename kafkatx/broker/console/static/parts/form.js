// Fields of forms: a label, the control, a hint or what is wrong with it.
import { html, names, useId } from "../core/dom.js";

/** A field around one control: *children(id, described)* draws it. */
export function Field({ label, hint, error, wide = false, children }) {
  const id = useId();
  const described = hint || error ? `${id}-note` : undefined;
  return html`<div class=${names("field", wide && "field-wide", error && "field-wrong")}>
    <label for=${id}>${label}</label>
    ${children({ id, "aria-describedby": described, "aria-invalid": error ? "true" : undefined })}
    ${(error || hint) && html`<p class="field-note" id=${described}>${error || hint}</p>`}
  </div>`;
}

/** A line of text. */
export const TextField = ({ label, hint, error, wide, value, onChange, ...rest }) => html`<${Field} label=${label}
  hint=${hint} error=${error} wide=${wide}>
  ${(own) => html`<input type="text" autocomplete="off" spellcheck="false" ...${rest} ...${own} value=${value}
    onInput=${(event) => onChange(event.currentTarget.value)} />`}
<//>`;

/** Text of several lines. */
export const AreaField = ({ label, hint, error, rows = 8, value, onChange, ...rest }) => html`<${Field}
  label=${label} hint=${hint} error=${error} wide>
  ${(own) => html`<textarea class="mono" spellcheck="false" rows=${rows} ...${rest} ...${own} value=${value}
    onInput=${(event) => onChange(event.currentTarget.value)}></textarea>`}
<//>`;

/** A choice of *options*: values, or [value, text]. */
export const SelectField = ({ label, hint, error, value, options, onChange, ...rest }) => html`<${Field}
  label=${label} hint=${hint} error=${error}>
  ${(own) => html`<select ...${rest} ...${own} value=${value} onChange=${(event) => onChange(event.currentTarget.value)}>
    ${options.map((option) => {
      const [key, text] = Array.isArray(option) ? option : [option, option];
      return html`<option value=${key} selected=${String(key) === String(value)}>${text}</option>`;
    })}
  </select>`}
<//>`;

/** A tick. */
export function CheckField({ label, checked, onChange, disabled = false }) {
  const id = useId();
  return html`<div class="check">
    <input id=${id} type="checkbox" checked=${checked} disabled=${disabled}
      onChange=${(event) => onChange(event.currentTarget.checked)} />
    <label for=${id}>${label}</label>
  </div>`;
}

/** One of a few choices, side by side. */
export function Choice({ label, value, options, onChange }) {
  const name = useId();
  return html`<fieldset class="choice">
    <legend class="hidden-text">${label}</legend>
    ${options.map(
      ([key, text]) => html`<label class=${names(key === value && "chosen")}>
        <input type="radio" name=${name} value=${key} checked=${key === value} onChange=${() => onChange(key)} />${text}
      </label>`,
    )}
  </fieldset>`;
}

/** Return what is wrong with a whole number that has to be at least *least*, or null. */
export function wrongNumber(text, least = 1) {
  return /^-?\d{1,18}$/.test(text) && Number(text) >= least ? null : `A whole number of at least ${least}.`;
}
