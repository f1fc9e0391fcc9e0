// The message browser of a topic: where to begin, which records, in which formats; what came, and how far it is.
import { html, useEffect, useMemo, useState } from "../../core/dom.js";
import { useResource } from "../../core/resource.js";
import { route, setQuery } from "../../core/router.js";
import { session } from "../../core/session.js";
import { bytes, count, plural } from "../../core/text.js";
import { Field, SelectField, TextField } from "../../parts/form.js";
import { Icon } from "../../parts/icon.js";
import { Empty, Failure } from "../../parts/page.js";
import { Download } from "./download.js";
import { FilterHelp } from "./filter_help.js";
import { COUNTS, STARTS, localTime, millisecondsOf, requestOf, startOf } from "./query.js";
import { Reader } from "./reader.js";
import { Records } from "./records.js";
import { SavedFilters } from "./saved.js";

const AUTOMATIC = ["", "automatic"];

function useFormats() {
  const { data } = useResource("messages/formats");
  return [AUTOMATIC, ...(data?.formats ?? []).filter((format) => format !== "auto")];
}

function Where({ topic, request, change }) {
  const { start, at } = startOf(request.from);
  const partitions = [["", "all"], ...topic.partitions.map(({ partition }) => [String(partition), String(partition)])];
  const formats = useFormats();
  function begin(key) {
    change({ from: key === "time" ? `time:${Date.now() - 3_600_000}` : key === "offset" ? "offset:0" : key });
  }
  return html`<div class="reader-fields">
    <${SelectField} label="Begin" value=${start} options=${STARTS} onChange=${begin} />
    ${start === "time" &&
    html`<${Field} label="Time">${(own) => html`<input type="datetime-local" step="1" ...${own} value=${localTime(at)}
      onChange=${(event) => { const ms = millisecondsOf(event.currentTarget.value); if (ms !== null) change({ from: `time:${ms}` }); }} />`}<//>`}
    ${start === "offset" && html`<${TextField} label="Offset" inputmode="numeric" pattern="[0-9]+" value=${at}
      onChange=${(text) => change({ from: `offset:${text.replace(/\D/g, "")}` })} />`}
    <${SelectField} label="Partition" value=${request.partition} options=${partitions}
      onChange=${(partition) => change({ partition })} />
    <${SelectField} label="Records" value=${request.count} options=${COUNTS} onChange=${(number) => change({ count: number })} />
    <${SelectField} label="Key as" value=${request.keyFormat} options=${formats}
      onChange=${(keyFormat) => change({ keyFormat })} />
    <${SelectField} label="Value as" value=${request.valueFormat} options=${formats}
      onChange=${(valueFormat) => change({ valueFormat })} />
  </div>`;
}

function Progress({ reader, request, read }) {
  const { value: progress } = reader.progress;
  const running = reader.running.value;
  const tails = reader.mode.value === "tail";
  const paused = reader.paused.value;
  if (reader.mode.value === "idle") return null;
  const done = progress ? `${plural(progress.scannedRecords ?? 0, "record")} scanned, ${bytes(progress.scannedBytes ?? 0)}` : running ? "Waiting for the first records" : "";
  return html`<div class="progress">
    ${running && !paused && html`<span class="pulse" aria-hidden="true"></span>`}
    <span role="status">
      ${running ? (tails ? (paused ? "Paused" : "Following") : "Reading") : reader.ended.value ? "Done" : "Stopped"}</span>
    ${progress?.filterFaults > 0 &&
    html`<span class="warned">the filter failed for ${plural(progress.filterFaults, "record")}: ${progress.firstFilterFault}</span>`}
    <span>${done}${progress?.matched !== undefined && progress.matched !== progress.scannedRecords ? `, ${count(progress.matched)} match` : ""}</span>
    ${running && tails &&
    html`<button type="button" class="button small" onClick=${() => reader.pause(!paused)}>
      <${Icon} name=${paused ? "play" : "pause"} size=${14} />
        ${paused ? `Go on${reader.held.value ? ` (${count(reader.held.value)} new)` : ""}` : "Pause"}
    </button>`}
    ${running && html`<button type="button" class="button small" onClick=${() => reader.cancel()}>
      <${Icon} name="stop" size=${13} /> ${tails ? "Stop" : "Cancel"}</button>`}
    ${!running && reader.mode.value === "read" && reader.records.value.length > 0 && html`<${Download} request=${request} />`}
    ${!running && reader.ended.value?.more && html`<button type="button" class="button small" onClick=${read}>Read on</button>`}
  </div>`;
}

function Found({ topic, reader, request, produce }) {
  const records = reader.records.value;
  if (records.length) return html`<${Records} topic=${topic} records=${records} request=${request} produce=${produce} />`;
  if (reader.running.value || reader.error.value) return null;
  if (reader.mode.value === "tail") return html`<div class="card"><${Empty} icon="live"
    title="Nothing was written meanwhile">Follow again to see new records as they come.<//></div>`;
  if (!reader.ended.value) return null;
  return request.filter
    ? html`<div class="card"><${Empty} icon="search" title="No record matches the filter">
      Everything from the beginning chosen above was looked at${reader.ended.value.more ? " up to the limit; read on to look further" : ""}.<//></div>`
    : html`<div class="card"><${Empty} icon="topics" title="No records here">
        ${produce ? "Write one with the button Produce, or " : "Records appear here when a producer writes them; to wait for them, "}follow the topic live.
      <//></div>`;
}

function Form({ topic, reader, request, change }) {
  const [filter, setFilter] = useState(request.filter);
  useEffect(() => setFilter(request.filter), [request.filter]);
  const [help, setHelp] = useState(false);
  const running = reader.running.value;
  const wanted = { ...request, filter };
  const wrong = reader.error.value?.status === 400 || reader.error.value?.code === "INVALID_FILTER" ? reader.error.value : null;
  function submitted(event) {
    event.preventDefault();
    if (filter !== request.filter) change({ filter });
    else reader.read(wanted);
  }
  function follow() {
    reader.tail(wanted); // before the address changes, which would read
    if (filter !== request.filter) change({ filter });
  }
  return html`<form class="card reader" onSubmit=${submitted}>
    <${Where} topic=${topic} request=${request} change=${change} />
    <div class="reader-filter">
      <${TextField} label="Filter" class="mono" data-search placeholder='value.total > 100 and key.startswith("a")' value=${filter}
        error=${wrong?.message} onChange=${setFilter} />
      <button type="submit" class="button primary"><${Icon} name="search" size=${16} /> Read</button>
      <button type="button" class="button"
        aria-pressed=${running && reader.mode.value === "tail" ? "true" : "false"} onClick=${follow}>
        <${Icon} name="live" size=${16} /> Follow live</button>
      <${SavedFilters} topic=${topic.name} filter=${filter} onChoose=${(chosen) => { setFilter(chosen); change({ filter: chosen }); }} />
      <button type="button" class="button quiet" aria-expanded=${help ? "true" : "false"}
        onClick=${() => setHelp(!help)}>How to filter</button>
    </div>
    ${help && html`<${FilterHelp} onExample=${setFilter} />`}
    ${reader.error.value && !wrong && html`<${Failure} error=${reader.error.value} />`}
    <${Progress} reader=${reader} request=${request} read=${() => reader.read(request, { goOn: true })} />
  </form>`;
}

/** The tab; *produce(record)* opens the form that writes one, or is null. */
export function Messages({ topic, produce }) {
  const reader = useMemo(() => new Reader(), [topic.name]);
  const request = requestOf(topic.name, route.value.query);
  const asked = JSON.stringify(request);
  const hidden = session.value.messages === "none";
  useEffect(() => {
    if (!hidden && !reader.follows(request)) reader.read(request);
  }, [asked]);
  useEffect(() => () => reader.cancel(), [reader]);
  if (hidden) {
    return html`<div class="card"><${Empty} icon="acls" title="This console shows no messages">
      The setting <code>kafkatx.console.messages</code> says so. Use <code>kafkatx consume</code> where you may.<//></div>`;
  }
  return html`<${Form} topic=${topic} reader=${reader} request=${request} change=${setQuery} />
    <${Found} topic=${topic} reader=${reader} request=${request}
      produce=${session.value.messages === "full" ? produce : null} />`;
}
