// Addresses after the "#": #/topics/NAME/messages?from=newest. What a view shows is in its address, so that
// it can be bookmarked, sent to others, and left with the browser's Back.
import { signal } from "./dom.js";

/** {segments: ["topics", "NAME"], query: {from: "newest"}} */
export const route = signal(parse(location.hash));

window.addEventListener("hashchange", () => {
  if (location.hash === "#main") return; // the skip link
  route.value = parse(location.hash);
});

function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Return the segments and the query of an address. */
export function parse(hash) {
  const [path, search = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  return {
    segments: path.split("/").filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

/** Return the address of *segments* with *query*; values that are empty are left out. */
export function href(segments, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = pairs.length ? `?${new URLSearchParams(pairs)}` : "";
  return `#/${segments.map(encodeURIComponent).join("/")}${search}`;
}

/** Go to an address; *replace* leaves no step in the history. */
export function go(segments, query = {}, { replace = false } = {}) {
  const target = href(segments, query);
  if (target === location.hash) return;
  if (replace) {
    history.replaceState(null, "", target);
    route.value = parse(target);
  } else {
    location.hash = target;
  }
}

/** Change some values of the query of the present address; they leave no step in the history. */
export function setQuery(changes) {
  const { segments, query } = route.peek();
  go(segments, { ...query, ...changes }, { replace: true });
}
