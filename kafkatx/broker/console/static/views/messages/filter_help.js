// What a filter can say, with examples that a click puts into the box.
import { html } from "../../core/dom.js";

const EXAMPLES = [
  ['value.status == "failed"', "the field status of a JSON or Avro value"],
  ['value.order.total > 100 and value.items[0].sku == "A-7"', "fields of fields, items of lists"],
  ['key.startswith("user-")', "text at the beginning of the key"],
  ['value.contains("timeout")', "text anywhere; also items of lists"],
  ['value.matches("5[0-9]{2}")', "a regular expression, anywhere in the text"],
  ['headers["trace-id"] == "7f3a"', "the header of that name"],
  ["partition in [0, 3] and offset >= 120000", "where a record lies"],
  ["timestamp > 1700000000000", "milliseconds since 1970"],
  ["not exists(value.user) or value.user is None", "a field that is missing or null"],
  ["len(value.items) > 3 and lower(value.city) == \"oslo\"", "functions: len lower upper int float str exists"],
];

/** The examples. */
export const FilterHelp = ({ onExample }) => html`<div class="help-text">
  <p class="note">
    A filter is an expression about <code>key value headers offset partition timestamp</code>, written as in Python. A field that is missing
    matches nothing and is no error.</p>
  <dl>
    ${EXAMPLES.map(
      ([example, meaning]) => html`<dt><button type="button" class="example" onClick=${() => onExample(example)}>
        <code>${example}</code></button></dt><dd class="muted">${meaning}</dd>`,
    )}
  </dl>
</div>`;
