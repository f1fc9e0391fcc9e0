// What this browser keeps for its user: the theme, the time zone, filters. Without storage it lasts as long as the page.
const PREFIX = "kafkatx-";

/** Return what is kept as *name*, or *other*. */
export function kept(name, other) {
  try {
    return localStorage.getItem(PREFIX + name) ?? other;
  } catch {
    return other; // storage is forbidden
  }
}

/** Keep text as *name*; null forgets it. */
export function keep(name, text) {
  try {
    if (text === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, text);
  } catch {
    // storage is forbidden, or full
  }
}
