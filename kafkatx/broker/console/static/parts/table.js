// Tables: columns are values {key, title, cell, sort, align, hide, head}. "hide" names the width below which a column goes:
// "wide" (1200 px), "medium" (900 px) or "narrow" (600 px). The first column heads its row.
import { html, names, useEffect, useRef, useState } from "../core/dom.js";
import { setQuery } from "../core/router.js";
import { count } from "../core/text.js";
import { Icon } from "./icon.js";

/** "-size" → {key: "size", down: true}. */
const order = (sort) => (sort?.startsWith("-") ? { key: sort.slice(1), down: true } : { key: sort, down: false });

function Head({ column, sort, onSort }) {
  const { key, down } = order(sort);
  const mine = column.sort && key === column.sort;
  const classes = names(column.align === "right" && "right", column.hide && `hide-${column.hide}`);
  if (!column.sort || !onSort) return html`<th scope="col" class=${classes}>${column.title}</th>`;
  const next = mine ? (down ? column.sort : `-${column.sort}`) : column.align === "right" ? `-${column.sort}` : column.sort;
  return html`<th scope="col" class=${classes} aria-sort=${mine ? (down ? "descending" : "ascending") : undefined}>
    <button type="button" class="sorter" onClick=${() => onSort(next)}>
      ${column.title}<span class=${names("arrow", mine && (down ? "arrow-down" : "arrow-up"))} aria-hidden="true"></span>
    </button>
  </th>`;
}

function Row({ row, columns }) {
  return html`<tr>
    ${columns.map((column, place) => {
      const classes = names(column.align === "right" && "right", column.hide && `hide-${column.hide}`, column.class);
      const cell = column.cell ? column.cell(row) : row[column.key];
      return place === 0 ? html`<th scope="row" class=${classes}>${cell}</th>` : html`<td class=${classes}>${cell}</td>`;
    })}
  </tr>`;
}

/** A table of *rows*. *caption* names it for screen readers; *keyOf* tells rows apart. */
export function Table({ caption, columns, rows, keyOf, sort, onSort, busy = false }) {
  const frame = useRef(null);
  const [wide, setWide] = useState(false);
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      const box = frame.current;
      if (box) setWide(box.scrollWidth > box.clientWidth + 1);
    });
    observer.observe(frame.current);
    observer.observe(frame.current.firstElementChild);
    return () => observer.disconnect();
  }, []);
  const scroll = wide ? { tabindex: "0", role: "region", "aria-label": caption } : {};
  return html`<div class="table-frame" ref=${frame} ...${scroll}>
    <table class=${names(busy && "busy")} aria-busy=${busy}>
      <caption class="hidden-text">${caption}</caption>
      <thead><tr>${columns.map((column) => html`<${Head} column=${column} sort=${sort} onSort=${onSort} />`)}</tr></thead>
      <tbody>${rows.map((row) => html`<${Row} key=${keyOf(row)} row=${row} columns=${columns} />`)}</tbody>
    </table>
  </div>`;
}

/** Sort *rows* here, by column *sort*; numbers and int64 strings by value, others as text. */
export function sorted(rows, sort) {
  const { key, down } = order(sort);
  if (!key) return rows;
  const value = (row) => {
    const found = row[key];
    return typeof found === "string" && /^-?\d{1,19}$/.test(found) ? Number(found) : found;
  };
  const compare = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === y) return 0;
    if (x === null || x === undefined) return -1;
    if (y === null || y === undefined) return 1;
    return typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : x < y ? -1 : 1;
  };
  return [...rows].sort((a, b) => (down ? compare(b, a) : compare(a, b)));
}

const PAGE = 50;

/** A table of rows that are all here: sorted and shown in pages of 50 in the browser. */
export function LocalTable({ rows, first = "", ...rest }) {
  const [sort, setSort] = useState(first);
  const [offset, setOffset] = useState(0);
  const start = Math.min(offset, Math.max(0, Math.floor((rows.length - 1) / PAGE) * PAGE));
  return html`<${Table} ...${rest} rows=${sorted(rows, sort).slice(start, start + PAGE)} sort=${sort} onSort=${setSort} />
    <${Pager} total=${rows.length} offset=${start} size=${PAGE} onChange=${setOffset} />`;
}

/** Which part of a list is shown, and the way to the others; nothing if all is shown. */
export function Pager({ total, offset, size, onChange }) {
  if (total <= size) return null;
  const to = Math.min(total, offset + size);
  return html`<nav class="pager" aria-label="Pages of the list">
    <span>${count(offset + 1)}–${count(to)} of ${count(total)}</span>
    <button type="button" class="button small" disabled=${offset === 0} onClick=${() => onChange(Math.max(0, offset - size))}>
      Previous
    </button>
    <button type="button" class="button small" disabled=${to >= total} onClick=${() => onChange(offset + size)}>Next</button>
  </nav>`;
}

/** A box for a search; "/" puts the focus here. Calls *onSearch* when typing pauses. */
export function SearchBox({ label, value = "", onSearch }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  const input = useRef(null);
  useEffect(() => {
    if (document.activeElement !== input.current || value === "") setText(value); // else it is being typed
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  function typed(event) {
    const now = event.currentTarget.value;
    setText(now);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onSearch(now), 200);
  }
  return html`<label class="search">
    <span class="hidden-text">${label}</span>
    <${Icon} name="search" size=${16} />
    <input type="search" ref=${input} data-search placeholder=${label} value=${text} onInput=${typed} spellcheck="false" autocomplete="off" />
    <kbd aria-hidden="true">/</kbd>
  </label>`;
}

/** Search, sort and page of a list that the server keeps, in the address: {search, sort, offset}. */
export const listChanges = {
  search: (search) => setQuery({ search, offset: "" }),
  sort: (sort) => setQuery({ sort, offset: "" }),
  page: (offset) => setQuery({ offset: offset || "" }),
};
