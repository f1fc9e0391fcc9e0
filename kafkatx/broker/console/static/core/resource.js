// Data of views: fetched when a view opens or its address changes, called off when it closes,
// fetched again after a time while the tab is visible.
import { useEffect, useMemo, useRef, useState } from "./dom.js";
import { api } from "./api.js";
import { whenVisible } from "./visibility.js";

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
    const keep = (old) => (base(old.resource) === base(resource) ? old.data : null);
    async function load() {
      try {
        const data = await api.get(resource, controller.signal);
        if (!controller.signal.aborted) setState({ resource, data, error: null });
      } catch (error) {
        if (controller.signal.aborted) return;
        setState((old) => ({ resource, data: error.status === 0 ? keep(old) : null, error }));
      }
      if (everyMs && !controller.signal.aborted) {
        timer = setTimeout(() => {
          forget = whenVisible(load);
        }, everyMs);
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
