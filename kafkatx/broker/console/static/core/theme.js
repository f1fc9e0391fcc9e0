// Light, dark or as the system has it. The choice is kept in this browser.
import { effect, signal } from "./dom.js";
import { keep, kept } from "./kept.js";

const system = matchMedia("(prefers-color-scheme: dark)");

/** "light", "dark" or "system". */
export const choice = signal(kept("theme", "system"));

/** True if the page is dark now; charts are drawn anew when it changes. */
export const dark = signal(false);

function apply() {
  dark.value = choice.value === "system" ? system.matches : choice.value === "dark";
  document.documentElement.dataset.theme = dark.value ? "dark" : "light";
}

effect(apply);
system.addEventListener("change", apply);

/** Choose a theme. */
export function choose(theme) {
  choice.value = theme;
  keep("theme", theme);
}
