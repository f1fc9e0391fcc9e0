// A tab that nobody sees asks for nothing: timers and streams follow this signal.
import { signal } from "./dom.js";

export const visible = signal(!document.hidden);
document.addEventListener("visibilitychange", () => {
  visible.value = !document.hidden;
});

// A page that is left may be kept for Back: its streams would keep the few connections that a browser opens to a host.
window.addEventListener("pagehide", () => {
  visible.value = false;
});
window.addEventListener("pageshow", () => {
  visible.value = !document.hidden;
});

/** Call *action* now, or as soon as the tab is seen; return the function that calls it off. */
export function whenVisible(action) {
  if (visible.peek()) {
    action();
    return () => {};
  }
  const stop = visible.subscribe((seen) => {
    if (seen) {
      stop();
      action();
    }
  });
  return stop;
}
