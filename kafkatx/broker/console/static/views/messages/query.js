// What is asked of the broker's message reader: kept in the address of the page, so that a search can be sent to others.
import { query } from "../../core/api.js";
import { parts } from "../../core/text.js";
import { zone } from "../../core/zone.js";

export const STARTS = [
  ["newest", "Newest"],
  ["oldest", "Oldest"],
  ["time", "At a time"],
  ["offset", "At an offset"],
];

export const COUNTS = ["25", "50", "100", "500"];
export const FEWEST = "50";

/** "time:1700000000000" → {start: "time", at: "1700000000000"}. */
export function startOf(from = "newest") {
  const [start, at = ""] = from.split(/:(.*)/s);
  return { start: STARTS.some(([key]) => key === start) ? start : "newest", at };
}

/** Return the request of an address's query: {topic, partition, from, count, filter, keyFormat, valueFormat}. */
export function requestOf(topic, asked) {
  return {
    topic,
    partition: asked.partition ?? "",
    from: asked.from ?? "newest",
    count: asked.count ?? FEWEST,
    filter: asked.filter ?? "",
    keyFormat: asked.keyFormat ?? "",
    valueFormat: asked.valueFormat ?? "",
  };
}

/** Return the resource that reads and ends; *next* is where an earlier one has told to go on. */
export const readResource = (request, next) => `messages${query({ ...request, from: next ?? request.from })}`;

const LONGEST = 1_000_000;

/** Return the resource that reads one record with up to a million characters of key and value. */
export const oneResource = (topic, { partition, offset }, formats) =>
  `messages${query({ topic, partition, from: `offset:${offset}`, count: 1, characters: LONGEST, ...formats })}`;

const FULL = 100_000;

/** Return the resource of a download: what a reading shows, with longer keys and values. */
export const downloadResource = (request) => `messages${query({ ...request, characters: FULL })}`;

/** Return the resource that follows what is written. */
export const tailResource = ({ topic, partition, filter, keyFormat, valueFormat }) =>
  `messages/tail${query({ topic, partition, filter, keyFormat, valueFormat })}`;

/** Milliseconds since 1970 → the text of a datetime-local field, in the zone of the times shown. */
export function localTime(ms) {
  const at = parts(ms);
  return at === null ? "" : `${at.day}T${at.clock}`;
}

/** The text of a datetime-local field → milliseconds since 1970, or null. */
export function millisecondsOf(text) {
  const ms = new Date(zone.value === "utc" ? `${text}Z` : text).getTime();
  return Number.isNaN(ms) ? null : ms;
}
