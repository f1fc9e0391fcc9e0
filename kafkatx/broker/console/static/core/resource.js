// Data of views: fetched when a view opens or its address changes, called off when it closes,
// fetched again after a time while the tab is visible, and tried again while the broker does not answer.
import { useEffect, useMemo, useRef, useState } from "./dom.js";
import { api, isPassing } from "./api.js";
import { whenVisible } from "./visibility.js";

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 10_000;

const base = (resource) => resource?.split("?")[0];

/**
 * Return {data, error, loading, reload} of *resource* (null: nothing to fetch).
 * Data of the same resource with another query stays until the new has come, so that tables do not flicker.
 */
export function useResource(resource, { everyMs = 0 } = {}) {
  const [state, setState] = useState({ resource: null, data: null, error: null });
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (resource === null) return undefined;
    const controller = new AbortController();
    let timer;
    let forget = () => {};
    let pauseMs = FIRST_PAUSE_MS;
    const keep = (old) => (base(old.resource) === base(resource) ? old.data : null);
    async function load() {
      let againMs = everyMs;
      try {
        const data = await api.get(resource, controller.signal);
        if (!controller.signal.aborted) setState({ resource, data, error: null });
        pauseMs = FIRST_PAUSE_MS;
      } catch (error) {
        if (controller.signal.aborted) return;
        setState((old) => ({ resource, data: error.status === 0 ? keep(old) : null, error }));
        if (isPassing(error)) {
          againMs = pauseMs;
          pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
        }
      }
      if (againMs && !controller.signal.aborted) {
        timer = setTimeout(() => {
          forget = whenVisible(load);
        }, againMs);
      }
    }
    load();
    return () => {
      controller.abort();
      clearTimeout(timer);
      forget();
    };
  }, [resource, round, everyMs]);
  const reload = useMemo(() => () => setRound((before) => before + 1), []);
  const same = base(state.resource) === base(resource);
  return {
    data: same ? state.data : null,
    error: same ? state.error : null,
    loading: resource !== null && state.resource !== resource,
    reload,
  };
}

/** Return {run, busy, error, clear}: *run(...)* calls the async *action* once at a time and keeps its failure. */
export function useAction(action) {
  const [state, setState] = useState({ busy: false, error: null });
  const mounted = useRef(true);
  useEffect(() => () => { mounted.current = false; }, []);
  const set = (value) => mounted.current && setState(value);
  async function run(...values) {
    if (state.busy) return;
    set({ busy: true, error: null });
    try {
      await action(...values);
      set({ busy: false, error: null });
    } catch (error) {
      set({ busy: false, error });
    }
  }
  return { ...state, run, clear: () => set({ busy: false, error: null }) };
}
