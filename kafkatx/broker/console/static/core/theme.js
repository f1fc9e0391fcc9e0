// Light, dark or as the system has it. The choice is kept in this browser.
import { effect, signal } from "./dom.js";

const KEY = "kafkatx-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function kept() {
  try {
    return localStorage.getItem(KEY) ?? "system";
  } catch {
    return "system"; // storage is forbidden: the choice lasts as long as the page
  }
}

/** "light", "dark" or "system". */
export const choice = signal(kept());

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
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // see above
  }
}
