// The dialog that sets a group's offsets anew: which topics, to where, what would change, and then the change.
import { html, useState } from "../../core/dom.js";
import { api, path } from "../../core/api.js";
import { useAction } from "../../core/resource.js";
import { count, plural } from "../../core/text.js";
import { FormDialog } from "../../parts/dialog.js";
import { CheckField, Field, SelectField, TextField } from "../../parts/form.js";
import { Failure, Remark } from "../../parts/page.js";
import { Table } from "../../parts/table.js";
import { say } from "../../parts/toast.js";
import { localTime, millisecondsOf } from "../messages/query.js";

const MOST_PARTITIONS = 10_000;

const TARGETS = [
  ["earliest", "the oldest record"],
  ["latest", "the end: only new records"],
  ["time", "a time"],
  ["offset", "an offset"],
  ["shift", "forward or back by a number of records"],
];

function targetOf(kind, value) {
  if (kind === "earliest" || kind === "latest") return kind;
  if (kind === "time") return { timeMs: Number(value) };
  return kind === "offset" ? { offset: value } : { shift: Number(value) };
}

const complete = (kind, value) => kind === "earliest" || kind === "latest" || (kind === "shift" ? /^-?\d{1,18}$/ : /^\d{1,18}$/).test(value);

/** "0, 3-5" → [0, 3, 4, 5]; "" → null for all of them; undefined if the text is wrong. */
export function partitionsOf(text) {
  if (!text.trim()) return null;
  const found = new Set();
  for (const part of text.split(",")) {
    const range = /^\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?$/.exec(part);
    if (!range) return undefined;
    const [first, last] = [Number(range[1]), Number(range[2] ?? range[1])];
    if (last < first || last - first >= MOST_PARTITIONS) return undefined;
    for (let number = first; number <= last; number += 1) found.add(number);
  }
  return [...found].sort((a, b) => a - b);
}

/** after - before, with its sign. */
function step({ before, after }) {
  if (before === null || before === undefined) return "new";
  const change = BigInt(after) - BigInt(before);
  return change > 0n ? `+${count(String(change))}` : count(String(change));
}

const CHANGES = [
  { key: "topic", title: "Topic", class: "name" },
  { key: "partition", title: "Partition", align: "right" },
  { key: "before", title: "Now", align: "right", hide: "narrow", cell: (one) => count(one.before) },
  { key: "after", title: "Then", align: "right", cell: (one) => html`<b>${count(one.after)}</b>` },
  { key: "step", title: "Change", align: "right", hide: "narrow", cell: step },
];

function Where({ kind, value, setKind, setValue }) {
  function choose(next) {
    setKind(next);
    setValue(next === "time" ? String(Date.now() - 3_600_000) : next === "shift" ? "-100" : "");
  }
  return html`<div class="fields">
    <${SelectField} label="Set to" value=${kind} options=${TARGETS} onChange=${choose} />
    ${kind === "time" &&
    html`<${Field} label="Time">${(own) => html`<input type="datetime-local" step="1" ...${own} value=${localTime(value)}
      onChange=${(event) => { const ms = millisecondsOf(event.currentTarget.value); if (ms !== null) setValue(String(ms)); }} />`}<//>`}
    ${(kind === "offset" || kind === "shift") && html`<${TextField} label=${kind === "offset" ? "Offset" : "Records"} inputmode="numeric" value=${value} onChange=${setValue}
      hint=${kind === "shift" ? "Negative numbers go back." : ""} />`}
  </div>`;
}

/**
 * The dialog: its button shows the preview first, and sets the offsets once that has been seen.
 * *only* {topic, partition} is chosen at first; null: all topics.
 */
export function ResetDialog({ group, only = null, onDone, onClose }) {
  const topics = [...new Set(group.offsets.map((one) => one.topic))].sort();
  const [chosen, setChosen] = useState(new Set(only ? [only.topic] : topics));
  const [numbers, setNumbers] = useState(only ? String(only.partition) : "");
  const [kind, setKind] = useState("earliest");
  const [value, setValue] = useState("");
  const [changes, setChanges] = useState(null);
  const again = (set) => (given) => {
    setChanges(null);
    set(given);
  };
  const partitions = chosen.size === 1 ? partitionsOf(numbers) : null;
  const body = (preview) => ({
    preview,
    scope: [...chosen].map((topic) => ({ topic, partitions })),
    to: targetOf(kind, value),
  });
  const preview = useAction(async () => setChanges((await api.post(path("groups", group.id, "reset"), body(true))).changes));
  async function reset() {
    await api.post(path("groups", group.id, "reset"), body(false));
    say(`Offsets of ${group.id} are set.`);
    onDone();
  }
  const ready = chosen.size > 0 && partitions !== undefined && complete(kind, value);
  return html`<${FormDialog} title=${`Reset offsets of ${group.id}`} verb="Set the offsets" wide ready=${ready && Boolean(changes?.length)} onSubmit=${reset} onClose=${onClose}
    beside=${html`<button type="button" class="button left" disabled=${!ready || preview.busy}
      onClick=${() => preview.run()}>Show what changes</button>`}>
    ${group.members.length > 0 && html`<${Remark} tone="warning">
      The group has ${plural(group.members.length, "member")}. Stop them first: the broker refuses a reset while they read.<//>`}
    <${Where} kind=${kind} value=${value} setKind=${again(setKind)} setValue=${again(setValue)} />
    ${topics.length > 1 &&
    html`<fieldset class="headers-form"><legend>Topics</legend>
      ${topics.map((topic) => html`<${CheckField} label=${topic} checked=${chosen.has(topic)} onChange=${(on) => {
        const next = new Set(chosen);
        if (on) next.add(topic);
        else next.delete(topic);
        again(setChosen)(next);
      }} />`)}
    </fieldset>`}
    ${chosen.size === 1 && html`<${TextField} label="Partitions" placeholder="all" value=${numbers} onChange=${again(setNumbers)}
      error=${partitions === undefined ? "Numbers and ranges, for example 0, 3-5." : null} hint="Numbers and ranges; empty: all of them." />`}
    <${Failure} error=${preview.error} />
    ${changes && (changes.length
      ? html`<div class="card flush"><${Table} caption="What changes" columns=${CHANGES} rows=${changes}
        keyOf=${(one) => `${one.topic}|${one.partition}`} /></div>`
      : html`<p class="note">Nothing would change.</p>`)}
  <//>`;
}
