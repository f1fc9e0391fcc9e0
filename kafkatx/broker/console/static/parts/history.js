// Charts of what brokers sample of themselves: the newest ten minutes by the second, up to the last week.
import { html, useEffect, useState } from "../core/dom.js";
import { api, query } from "../core/api.js";
import { serverNow } from "../core/session.js";
import { whenVisible } from "../core/visibility.js";
import { Failure } from "./page.js";
import { plural } from "../core/text.js";
import { Chart } from "./chart.js";
import { Choice } from "./form.js";

const MINUTE = 60_000;
const POINTS = 300;
const LEAST_PAUSE_MS = 2000;

export const RANGES = [
  ["10", "10 min"],
  ["60", "1 h"],
  ["360", "6 h"],
  ["1440", "1 day"],
  ["10080", "1 week"],
];

/** The choice of how far back charts go: minutes as text. */
export const RangeChoice = ({ value, onChange }) => html`<${Choice} label="Time shown" value=${value}
  options=${RANGES} onChange=${onChange} />`;

/** Names with commas are kept whole if the parameter is there more than once: so one name is there twice. */
const seriesQuery = (series) =>
  new URLSearchParams((series.length > 1 ? series : [...series, ...series]).map((name) => ["series", name])).toString();

/** Return {history, error}: samples of *series* (names) in the last *minutes*, of one *broker* or of all, fetched again as they come. */
export function useHistory(series, minutes, broker) {
  const [state, setState] = useState({ history: null, error: null });
  const wanted = seriesQuery(series);
  useEffect(() => {
    const controller = new AbortController();
    let timer;
    let forget = () => {};
    async function load() {
      let pause = 5 * LEAST_PAUSE_MS;
      try {
        const toMs = Math.round(serverNow());
        const fromMs = toMs - Number(minutes) * MINUTE;
        const history = await api.get(`history${query({ fromMs, toMs, points: POINTS, broker })}&${wanted}`, controller.signal);
        pause = Math.max(LEAST_PAUSE_MS, Math.min(history.stepMs, MINUTE));
        setState({ history, error: null });
      } catch (error) {
        if (controller.signal.aborted) return;
        setState((old) => ({ history: old.history, error }));
      }
      if (!controller.signal.aborted) timer = setTimeout(() => { forget = whenVisible(load); }, pause);
    }
    load();
    return () => {
      controller.abort();
      clearTimeout(timer);
      forget();
    };
  }, [wanted, minutes, broker]);
  return state;
}

const NOTHING = [];

function valuesOf(history, name, change) {
  const values = history?.series[name] ?? (history?.timesMs ?? NOTHING).map(() => null);
  return change ? values.map((value) => (value === null ? null : change(value))) : values;
}

/** A word about brokers whose samples the charts lack: they take none, for they have no console, or do not answer. */
const Missing = ({ brokers }) =>
  brokers?.length > 0 && html`<p class="muted">The charts are without ${brokers.length === 1 ? `broker ${brokers[0]}` : `${plural(brokers.length, "broker")} (${brokers.join(", ")})`}:
    no samples came from there. A broker takes some if it has a console.</p>`;

/** Charts of one history, of one *broker* or of all: *charts* are {title, unit, lines: [[series, name, change or nothing], …], most, none}. */
export function HistoryCharts({ charts, minutes, sync, broker }) {
  const series = charts.flatMap((chart) => chart.lines.map(([name]) => name));
  const { history, error } = useHistory(series, minutes, broker);
  const timesMs = history?.timesMs ?? NOTHING;
  return html`${error && !history && html`<${Failure} error=${error} />`}
    <div class="charts">
      ${charts.map(
        (chart) => html`<div class="card" key=${chart.title}>
          <${Chart}
            title=${chart.title}
            unit=${chart.unit}
            most=${chart.most} none=${chart.none}
            sync=${sync}
            timesMs=${timesMs}
            lines=${chart.lines.map(([name, text, change]) => ({ name: text, values: valuesOf(history, name, change) }))}
          />
        </div>`,
      )}
    </div>
    <${Missing} brokers=${history?.missing} />`;
}
