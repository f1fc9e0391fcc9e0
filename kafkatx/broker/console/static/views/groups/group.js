// One group: how far it is in each partition, who its members are, and its offsets set anew.
import { html } from "../../core/dom.js";
import { api, path, query } from "../../core/api.js";
import { useLive } from "../../core/events.js";
import { useResource } from "../../core/resource.js";
import { go, href, route, setQuery } from "../../core/router.js";
import { readOnly } from "../../core/session.js";
import { NONE, behind, compact, count, plural } from "../../core/text.js";
import { GroupState, Meter, Tile } from "../../parts/badge.js";
import { Confirm, useDialog } from "../../parts/dialog.js";
import { HistoryCharts, RangeChoice } from "../../parts/history.js";
import { Icon } from "../../parts/icon.js";
import { Empty, Failure, Page, Section, Waiting } from "../../parts/page.js";
import { LocalTable } from "../../parts/table.js";
import { say } from "../../parts/toast.js";
import { Explanation, useExplanation } from "./explanation.js";
import { Members } from "./members.js";
import { ResetDialog } from "./reset.js";

/** Sum of the lags that are known, as text; null if none is. */
function totalLag(offsets) {
  const known = offsets.filter((one) => one.lag !== null && one.lag !== undefined);
  return known.length ? String(known.reduce((sum, one) => sum + BigInt(one.lag), 0n)) : null;
}

function Offsets({ group, reset }) {
  const most = Math.max(1, ...group.offsets.map((one) => Number(one.lag ?? 0)));
  const clients = new Map(group.members.map((member) => [member.memberId, member.clientId]));
  const columns = [
    { key: "topic", title: "Topic", sort: "topic", class: "name", cell: (one) => html`<a
      href=${href(["topics", one.topic])}>${one.topic}</a>` },
    { key: "partition", title: "Partition", sort: "partition", align: "right" },
    { key: "committedOffset", title: "Committed", sort: "committedOffset", align: "right", hide: "narrow", cell: (one) => count(one.committedOffset) },
    { key: "endOffset", title: "End", sort: "endOffset", align: "right", hide: "narrow", cell: (one) => count(one.endOffset) },
    { key: "member", title: "Read by", hide: "medium", class: "name", cell: (one) => (one.memberId ? (clients.get(one.memberId) ?? one.memberId) : html`<span
      class="muted">no member</span>`) },
    { key: "lagMs", title: "Behind", sort: "lagMs", align: "right", cell: (one) => behind(one.lagMs) },
    { key: "lag", title: "Lag", sort: "lag", align: "right", cell: (one) => html`<${Meter} value=${one.lag ?? 0}
      most=${most}>${count(one.lag)}<//>` },
    !readOnly.value && { key: "reset", title: html`<span class="hidden-text">Reset</span>`, align: "right", hide: "narrow", cell: (one) => html`<button
      type="button" class="button quiet small" aria-label=${`Reset the offset of ${one.topic}, partition ${one.partition}`}
      onClick=${() => reset(one)}>Reset</button>` },
  ].filter(Boolean);
  if (!group.offsets.length) {
    return html`<div class="card"><${Empty} icon="groups" title="No offsets yet">
      They appear here when a member commits for the first time.<//></div>`;
  }
  return html`<div class="card flush"><${LocalTable} caption="Offsets" columns=${columns} rows=${group.offsets}
    first="topic" keyOf=${(one) => `${one.topic}|${one.partition}`} /></div>`;
}

function Controls({ open, explanation }) {
  const why = html`<button type="button" class="button" disabled=${explanation.busy} onClick=${explanation.ask}>Why slow?</button>`;
  if (readOnly.value) return why;
  return html`${why}
    <button type="button" class="button" onClick=${() => open("reset")}>
    <${Icon} name="refresh" size=${16} /> Reset offsets</button>
    <button type="button" class="button danger" onClick=${() => open("delete")}>
      <${Icon} name="trash" size=${16} /> Delete</button>`;
}

function Dialogs({ group, state, reload }) {
  const { dialog, close } = state;
  if (!dialog) return null;
  if (dialog.name === "reset") return html`<${ResetDialog} group=${group} only=${dialog.value} onDone=${reload} onClose=${close} />`;
  async function remove() {
    await api.delete(`${path("groups", group.id)}${query({ confirm: group.id })}`);
    say(`Group ${group.id} is deleted.`);
    go(["groups"]);
  }
  return html`<${Confirm} title=${`Delete ${group.id}`} verb="Delete the group" word=${group.id} onConfirm=${remove}
    onClose=${close}>
    <p>Its committed offsets are gone for ever. A consumer that joins it again begins where <code>auto.offset.reset</code> says.</p>
  <//>`;
}

/** The view. */
export function Group({ id }) {
  const resource = useResource(path("groups", id));
  const live = useLive(`group:${id}`);
  const state = useDialog();
  const explanation = useExplanation(id);
  const group = live?.offsets ? live : resource.data;
  const minutes = route.value.query.minutes ?? "10";
  const crumbs = [["Groups", ["groups"]]];
  if (!group) {
    return html`<${Page} title=${id} crumbs=${crumbs}>
      ${resource.error ? html`<${Failure} error=${resource.error} retry=${resource.reload} />` : html`<${Waiting} />`}
    <//>`;
  }
  const topics = new Set(group.offsets.map((one) => one.topic)).size;
  const oldest = group.offsets.reduce((most, one) => Math.max(most, one.lagMs ?? -1), -1);
  const lag = totalLag(group.offsets);
  const none = `There are no samples of it yet: its coordinator, broker ${group.coordinator ?? NONE}, takes some once it lags.`;
  const lags = [{ title: "Lag", unit: "records", lines: [[`lag:${id}`, "lag"]], none }];
  return html`<${Page} title=${id} crumbs=${crumbs} actions=${html`<${Controls} open=${state.open} explanation=${explanation} />`}>
    <div class="tiles">
      <${Tile} label="State" value=${html`<${GroupState} state=${group.state} />`}
        hint=${`${group.protocol} protocol${group.assignor ? `, ${group.assignor}` : ""}`} />
      <${Tile} label="Lag" value=${compact(lag)} hint=${lag === null ? "no offsets" : `${count(lag)} records`} />
      <${Tile} label="Behind" value=${oldest < 0 ? NONE : behind(oldest)} hint="age of the oldest unread record" />
      <${Tile} label="Members" value=${count(group.members.length)} hint=${plural(topics, "topic")} />
      <${Tile} label="Coordinator" value=${group.coordinator ?? NONE} hint="broker"
        href=${group.coordinator === null || group.coordinator === undefined ? undefined : href(["brokers", String(group.coordinator)])} />
    </div>
    <${Explanation} explanation=${explanation} />
    <${Section} title="Lag over time" plain
      actions=${html`<${RangeChoice} value=${minutes}
        onChange=${(value) => setQuery({ minutes: value === "10" ? "" : value })} />`}>
      <${HistoryCharts} charts=${lags} minutes=${minutes} />
    <//>
    <${Section} title="Offsets" plain><${Offsets} group=${group} reset=${(one) => state.open("reset", one)} /><//>
    <${Section} title="Members" plain><${Members} members=${group.members} /><//>
    <${Dialogs} group=${group} state=${state} reload=${resource.reload} />
  <//>`;
}
