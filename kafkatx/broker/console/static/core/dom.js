// The libraries under one roof: every module takes html, hooks and signals from here.
// Data only ever becomes text nodes and attributes: no module writes markup from strings.
import { Fragment, h, render } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export const html = htm.bind(h);
export { Fragment, h, render };
export {
  useCallback,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "../vendor/preact-hooks.js";
export { batch, computed, effect, signal } from "../vendor/signals.js";

/** Join the class names that are not empty. */
export const names = (...all) => all.filter(Boolean).join(" ");
