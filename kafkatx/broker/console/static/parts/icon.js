// Icons: strokes on a grid of 24, drawn in the colour of the text beside them. They never stand alone: a word does.
import { h } from "../core/dom.js";

const PATHS = {
  overview: ["M4 13h6V4H4zM14 20h6V4h-6zM4 20h6v-3H4z"],
  brokers: ["M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01"],
  topics: ["M4 6h16M4 12h16M4 18h10"],
  groups: ["M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20a6.5 6.5 0 0 1 13 0M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5a6.5 6.5 0 0 1 3.5 5.5"],
  schemas: ["M8 4c-3 0-3 2-3 4s0 4-2.5 4C5 12 5 14 5 16s0 4 3 4M16 4c3 0 3 2 3 4s0 4 2.5 4C19 12 19 14 19 16s0 4-3 4"],
  mirrors: ["M4 8h13M13 4l4 4-4 4M20 16H7M11 12l-4 4 4 4"],
  transactions: ["M4 7h10M4 12h7M4 17h5M14 16l3 3 5-6"],
  acls: ["M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3"],
  users: ["M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 20a7 7 0 0 1 14 0"],
  quotas: ["M4 17a8 8 0 1 1 16 0M12 17l4-5"],
  actions: ["M12 8v4l3 2M4.5 9A8 8 0 1 1 4 12M4 5v4h4"],
  search: ["M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L20 20"],
  plus: ["M12 5v14M5 12h14"],
  close: ["M6 6l12 12M18 6L6 18"],
  play: ["M8 5l11 7-11 7z"],
  pause: ["M8 5v14M16 5v14"],
  stop: ["M6 6h12v12H6z"],
  copy: ["M9 9h11v11H9zM5 15H4V4h11v1"],
  trash: ["M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5"],
  edit: ["M4 20l1-5L16 4l4 4L9 19z"],
  refresh: ["M20 12a8 8 0 1 1-2.3-5.7M20 4v5h-5"],
  send: ["M4 12l16-8-6 16-3-7z"],
  check: ["M5 12.5l4.5 4.5L19 7"],
  warning: ["M12 4l9 16H3zM12 10v4M12 17h.01"],
  down: ["M6 9l6 6 6-6"],
  right: ["M9 6l6 6-6 6"],
  menu: ["M4 7h16M4 12h16M4 17h16"],
  sun: ["M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19"],
  moon: ["M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z"],
  system: ["M3 5h18v11H3zM9 20h6M12 16v4"],
  exit: ["M14 4H5v16h9M10 12h11M17 8l4 4-4 4"],
  live: ["M12 13a1 1 0 1 0 0-2 1 1 0 0 0 0 2zM7.8 16.2a6 6 0 0 1 0-8.4M16.2 7.8a6 6 0 0 1 0 8.4M5 19a10 10 0 0 1 0-14M19 5a10 10 0 0 1 0 14"],
};

/** A picture that says nothing a screen reader needs. */
export const Icon = ({ name, size = 18 }) =>
  h(
    "svg",
    {
      class: `icon icon-${name}`,
      width: size,
      height: size,
      viewBox: "0 0 24 24",
      "aria-hidden": "true",
      focusable: "false",
    },
    PATHS[name].map((d) => h("path", { d })),
  );
