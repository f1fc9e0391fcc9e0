// Live numbers: one stream per tab carries the topics of all views that are open.
// It is opened anew when that set changes, closed while the tab is hidden, and tried again with growing pauses.
import { effect, signal, useEffect, useState } from "./dom.js";
import { query } from "./api.js";
import { readStream } from "./stream.js";
import { visible } from "./visibility.js";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const SETTLE_MS = 30;

/** "idle" (no topics), "connecting", "live" or "lost". */
export const connection = signal("idle");

const listeners = new Map();
const latest = new Map();
let controller = null;
let timer = null;
let pauseMs = FIRST_PAUSE_MS;

function open() {
  controller?.abort();
  controller = null;
  clearTimeout(timer);
  if (!listeners.size || !visible.value) {
    connection.value = "idle";
    return;
  }
  const mine = new AbortController();
  controller = mine;
  if (connection.value !== "lost") connection.value = "connecting";
  readStream(`events${query({ topics: [...listeners.keys()].join(",") })}`, {
    signal: mine.signal,
    onEvent: (name, data) => name === "update" && deliver(data),
    onOpen: () => {
      pauseMs = FIRST_PAUSE_MS;
      connection.value = "live";
    },
  }).then(
    () => mine.signal.aborted || lost(0),
    (error) => mine.signal.aborted || lost(error.status),
  );
}

function lost(status) {
  connection.value = "lost";
  if (status === 401) return; // the login page opens the next one
  timer = setTimeout(open, pauseMs);
  pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
}

function deliver(data) {
  for (const [topic, update] of Object.entries(data)) {
    if (update.error) continue; // the view asks by itself, and says what is wrong
    latest.set(topic, update);
    for (const listener of listeners.get(topic) ?? []) listener(update);
  }
}

function changed() {
  clearTimeout(timer);
  timer = setTimeout(open, SETTLE_MS);
}

/** Call *listener* with each update of *topic*; return the function that ends it. */
export function subscribe(topic, listener) {
  if (!listeners.has(topic)) {
    listeners.set(topic, new Set());
    changed();
  }
  listeners.get(topic).add(listener);
  if (latest.has(topic)) listener(latest.get(topic)); // the server sends changes only
  return () => {
    listeners.get(topic)?.delete(listener);
    if (listeners.get(topic)?.size === 0) {
      listeners.delete(topic);
      latest.delete(topic);
      changed();
    }
  };
}

let seenBefore = visible.peek();
effect(() => {
  const seen = visible.value;
  if (seen === seenBefore) return;
  seenBefore = seen;
  if (!seen) controller?.abort(); // at once: a page that is left runs no timers
  changed();
});

/** Return the latest update of *topic*, or null before the first one. Commas separate topics: names with one get none. */
export function useLive(topic) {
  const [update, setUpdate] = useState(null);
  useEffect(() => {
    setUpdate(null);
    return topic && !topic.includes(",") ? subscribe(topic, setUpdate) : undefined;
  }, [topic]);
  return update;
}
