// A list that the server searches, sorts and cuts into pages. Its state is in the address.
import { html } from "../core/dom.js";
import { query } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { route } from "../core/router.js";
import { Loaded, Empty } from "./page.js";
import { Pager, SearchBox, Table, listChanges } from "./table.js";

const SIZE = 50;

/** Return the resource of the list at *base*, as the address wants it: {data: {total, items}, …}. */
export function useList(base, { sort: usual = "", everyMs = 5000, extra = {} } = {}) {
  const { search = "", sort = usual, offset = "0" } = route.value.query;
  const resource = useResource(`${base}${query({ search, sort, offset, count: SIZE, ...extra })}`, { everyMs });
  return { ...resource, search, sort, offset: Number(offset) || 0 };
}

/**
 * The search box, the table and the pager of *list* (from useList).
 * *none* is drawn if there is nothing at all, *things* is the plural of what is listed.
 */
export function ListTable({ list, things, columns, keyOf, none, beside }) {
  return html`<div class="toolbar">
      <${SearchBox} label=${`Search ${things}`} value=${list.search} onSearch=${listChanges.search} />
      ${beside}
    </div>
    <${Loaded} resource=${list} rows=${8}>
      ${(data) => {
        if (!data.items.length && !list.search) return html`<div class="card">${none}</div>`;
        if (!data.items.length) {
          return html`<div class="card"><${Empty} icon="search" title=${`No ${things} match “${list.search}”`}>
            <button type="button" class="button" onClick=${() => listChanges.search("")}>Clear the search</button>
          <//></div>`;
        }
        return html`<div class="card flush">
          <${Table}
            caption=${things}
            columns=${columns(data.items)}
            rows=${data.items}
            keyOf=${keyOf}
            sort=${list.sort}
            onSort=${listChanges.sort}
            busy=${list.loading}
          />
          <${Pager} total=${data.total} offset=${list.offset} size=${SIZE} onChange=${listChanges.page} />
        </div>`;
      }}
    <//>`;
}
