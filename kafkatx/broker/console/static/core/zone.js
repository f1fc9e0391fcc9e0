// The time zone of all times that are shown: the reader's own, or UTC as in the log of a broker.
import { signal } from "./dom.js";
import { keep, kept } from "./kept.js";

/** "local" or "utc". */
export const zone = signal(kept("zone", "local") === "utc" ? "utc" : "local");

/** Choose a zone. */
export function chooseZone(chosen) {
  zone.value = chosen;
  keep("zone", chosen);
}
