// Numbers, sizes, times as people read them. Whole numbers of 64 bits come as strings and are never rounded.
import { zone } from "./zone.js";

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const percents = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0 });
const UNITS = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
export const NONE = "–";

const missing = (value) => value === null || value === undefined || value === "";

/** 1234567 or "1234567" → "1,234,567". */
export function count(value) {
  if (missing(value)) return NONE;
  return whole.format(typeof value === "string" && /^-?\d+$/.test(value) ? BigInt(value) : Number(value));
}

/** 1234567 → "1.23M". */
export const compact = (value) => (missing(value) ? NONE : short.format(Number(value)));

/** 1536000 → "1.54 MB". Units are powers of 1,000. */
export function bytes(value) {
  if (missing(value)) return NONE;
  let number = Number(value);
  let unit = 0;
  while (Math.abs(number) >= 999.5 && unit < UNITS.length - 1) {
    number /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || Math.abs(number) >= 100 ? 0 : Math.abs(number) >= 10 ? 1 : 2;
  return `${number.toFixed(unit ? digits : 0)} ${UNITS[unit]}`;
}

/** 0.934 → "93%". */
export const percent = (value) => (missing(value) ? NONE : percents.format(value));

/** A value of a chart or a tile by the unit that the history tells. */
export function quantity(value, unit) {
  if (missing(value)) return NONE;
  if (unit === "bytes") return bytes(value);
  if (unit === "bytes/s") return `${bytes(value)}/s`;
  if (unit === "share") return percent(value);
  if (unit === "ms") return duration(value);
  return unit?.endsWith("/s") ? `${compact(value)}/s` : compact(value);
}

const STEPS = [
  [86_400_000, "d", 3_600_000, "h"],
  [3_600_000, "h", 60_000, "min"],
  [60_000, "min", 1000, "s"],
];

/** 5400000 → "1 h 30 min"; -1 → "unlimited". */
export function duration(ms) {
  if (missing(ms)) return NONE;
  const value = Number(ms);
  if (value < 0) return "unlimited";
  for (const [large, largeName, small, smallName] of STEPS) {
    if (value < large) continue;
    const rest = Math.floor((value % large) / small);
    return `${Math.floor(value / large)} ${largeName}${rest ? ` ${rest} ${smallName}` : ""}`;
  }
  if (value >= 1000) return `${(value / 1000).toFixed(value < 10_000 && value % 1000 ? 1 : 0)} s`;
  return `${Math.round(value)} ms`;
}

/** How far a reader is behind: 0 → "caught up", else a duration. */
export const behind = (ms) => (!missing(ms) && Number(ms) === 0 ? "caught up" : duration(ms));

const two = (number) => String(number).padStart(2, "0");

/** The parts of a time, in the zone that the reader has chosen: {day: "2026-11-27", clock: "14:05:09"}. */
export function parts(ms) {
  const at = new Date(Number(ms));
  if (Number.isNaN(at.getTime())) return null;
  const shifted = zone.value === "utc" ? at : new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  const [day, clock] = shifted.toISOString().split(/[T.]/);
  return { day, clock };
}

/** Date and time of day, to the millisecond if *exact*: "2026-11-27 14:05:09.123". */
export function time(ms, exact = false) {
  if (missing(ms) || Number(ms) < 0) return NONE;
  const at = parts(ms);
  if (at === null) return NONE;
  return `${at.day} ${at.clock}${exact ? `.${String(Number(ms) % 1000).padStart(3, "0")}` : ""}`;
}

/** How long before *nowMs* a time is: "3 min ago". */
export function ago(ms, nowMs) {
  if (missing(ms) || Number(ms) < 0) return NONE;
  const past = nowMs - Number(ms);
  return past < 1000 ? "now" : `${duration(past < 60_000 ? Math.floor(past / 1000) * 1000 : past)} ago`;
}

/** The name of the time zone of the times shown. */
export const timeZone = () => (zone.value === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone);

/** count(3), "topic" → "3 topics". */
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${Number(number) === 1 ? one : many}`;

/** Sizes of whole lists: ["a", "b", "c"] → "a, b and c". */
export function listed(words, most = 5) {
  const shown = words.length > most ? [...words.slice(0, most), `${words.length - most} more`] : words;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}

/** Names of constants as words: "COMPLETING_REBALANCE" or "CompletingRebalance" → "completing rebalance". */
export const words = (name) =>
  missing(name) ? NONE : name.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ").toLowerCase();
