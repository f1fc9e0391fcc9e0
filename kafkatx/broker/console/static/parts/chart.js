// Charts over time. uPlot draws lines on a canvas; what they say is also text: the legend shows the values at the
// pointer or the newest ones, and the picture's label sums them up for screen readers.
import uPlot from "../vendor/uplot.js";
import { html, names, useEffect, useRef, useState } from "../core/dom.js";
import { dark } from "../core/theme.js";
import { zone } from "../core/zone.js";
import { parts, quantity, time } from "../core/text.js";

const HEIGHT = 168;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Steps of the y axis: whole numbers, so that no two of its texts are the same; shares have their own. */
const WHOLE = Array.from({ length: 18 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

const axisText = (unit) => (plot, values) => values.map((value) => (value === null ? "" : quantity(value, unit).replace(/\.0+(?=\D|$)/, "")));

function options({ width, lines, unit, most, onCursor, sync }) {
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    padding: [10, 24, 4, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, sync: sync ? { key: sync } : undefined },
    scales: { y: { range: (plot, low, high) => [Math.min(0, low ?? 0), most ?? Math.max(1, (high ?? 0) * 1.12)] } },
    axes: [
      { ...axis, size: 28, gap: 6, space: 70, grid: { show: false }, values: timeAxis },
      { ...axis, size: 72, gap: 8, space: 34, values: axisText(unit), ...(unit === "share" ? {} : { incrs: WHOLE }) },
    ],
    series: [
      {},
      ...lines.map((line, place) => ({
        label: line.name,
        stroke: colour(`--chart-${place + 1}`),
        width: 1.75,
        fill: lines.length === 1 || place === 0 ? `${colour(`--chart-${place + 1}`)}1f` : undefined,
        points: { show: false },
        spanGaps: false,
      })),
    ],
    hooks: { setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)] },
  };
}

function timeAxis(plot, splits, axis, space, step) {
  let before = null;
  return splits.map((seconds) => {
    const { day, clock } = parts(seconds * 1000);
    const text = step >= 86_400 || (before !== null && before !== day) ? day.slice(5) : clock.slice(0, step < 60 ? 8 : 5);
    before = day;
    return text;
  });
}

/** Return the last value that is there. */
const newest = (values) => values.findLast((value) => value !== null && value !== undefined) ?? null;

/** Return the place of the last sample that any line has. */
const newestAt = (lines) => Math.max(...lines.map(({ values }) => values.findLastIndex((value) => value !== null && value !== undefined)));

function summary(title, lines, unit) {
  const said = lines.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    return `${name}: now ${quantity(newest(values), unit)}, at most ${quantity(known.length ? Math.max(...known) : null, unit)}`;
  });
  return `${title}. ${said.join("; ")}.`;
}

/**
 * A chart with its title and legend. *timesMs* and the values of each of *lines* [{name, values}] have one length;
 * null is a gap. Charts of one *sync* share their pointer. *most* fixes the top of the scale. *none* is said where there is nothing.
 */
export function Chart({ title, timesMs, lines, unit, sync, most, none = "No samples yet" }) {
  const box = useRef(null);
  const plot = useRef(null);
  const [at, setAt] = useState(null);
  const isDark = dark.value;
  const shape = `${title}|${unit}|${zone.value}|${most}|${lines.map((line) => line.name).join("|")}|${isDark}`;
  const data = [timesMs.map((ms) => ms / 1000), ...lines.map((line) => line.values)];
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const made = new uPlot(
      options({ width: box.current.clientWidth, lines, unit, most, sync, onCursor: setAt }),
      latest.current,
      box.current,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => {
      const width = box.current?.clientWidth;
      if (width && width !== made.width) made.setSize({ width, height: HEIGHT });
    });
    observer.observe(box.current);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(latest.current), [timesMs]);
  return html`<figure class="chart">
    <figcaption>
      <span class="chart-title">${title}</span>
      <span class="chart-at">${time(timesMs[at ?? newestAt(lines)])}</span>
      <span class="legend">
        ${lines.map(
          ({ name, values }, place) => html`<span class="legend-item">
            <span class=${names("swatch", `swatch-${place + 1}`)}></span>${lines.length > 1 && html`<span>${name}</span>`}
            <b>${quantity(at === null ? newest(values) : values[at], unit)}</b>
          </span>`,
        )}
      </span>
    </figcaption>
    ${timesMs.length > 0 && lines.every(({ values }) => newest(values) === null) && html`<p class="no-samples">${none}</p>`}
    <div class="plot" ref=${box} role="img" aria-label=${summary(title, lines, unit)}></div>
  </figure>`;
}
