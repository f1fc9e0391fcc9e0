// One topic: its numbers, and its parts as tabs: messages, partitions, groups, settings, producers, access.
import { html } from "../../core/dom.js";
import { api, path, query } from "../../core/api.js";
import { useLive } from "../../core/events.js";
import { useResource } from "../../core/resource.js";
import { go } from "../../core/router.js";
import { readOnly, session } from "../../core/session.js";
import { bytes, compact, count, plural } from "../../core/text.js";
import { Badge, Tile } from "../../parts/badge.js";
import { Configs } from "../../parts/configs.js";
import { Confirm, useDialog } from "../../parts/dialog.js";
import { Icon } from "../../parts/icon.js";
import { Failure, Page, Remark, Waiting } from "../../parts/page.js";
import { Tabs } from "../../parts/tabs.js";
import { say } from "../../parts/toast.js";
import { Messages } from "../messages/browser.js";
import { ProduceDialog } from "../messages/produce.js";
import { AclsOf } from "../security/acls.js";
import { GroupsOf } from "./groups.js";
import { Partitions } from "./partitions.js";
import { Producers } from "./producers.js";
import { AddPartitions, Purge } from "./changes.js";

const sum = (partitions, value) => partitions.reduce((total, partition) => total + value(partition), 0n);
const whole = (text) => BigInt(text ?? 0);

/** What the tiles say, from the partitions. */
export function totals(topic) {
  const known = topic.partitions.filter((partition) => partition.endOffset !== null && partition.endOffset !== undefined);
  return {
    records: String(sum(known, (partition) => whole(partition.endOffset) - whole(partition.startOffset))),
    bytes: String(sum(known, (partition) => whole(partition.sizeBytes))),
    outOfSync: topic.partitions.filter((partition) => partition.isr.length < partition.replicas.length).length,
    leaderless: topic.partitions.filter((partition) => partition.leader === null || partition.leader < 0).length,
  };
}

const may = (topic, operation) => !topic.authorizedOperations || topic.authorizedOperations.includes(operation);

function Actions({ topic, open }) {
  if (readOnly.value) return null;
  return html`
    ${session.value.messages === "full" && may(topic, "WRITE") && html`<button type="button" class="button primary"
      onClick=${() => open("produce")}><${Icon} name="send" size=${16} /> Produce</button>`}
    ${may(topic, "ALTER") && html`<button type="button" class="button" onClick=${() => open("partitions")}>
      <${Icon} name="plus" size=${16} /> Add partitions</button>`}
    ${may(topic, "DELETE") &&
    html`<button type="button" class="button danger" onClick=${() => open("purge")}>Purge</button>
      <button type="button" class="button danger" onClick=${() => open("delete")}>
        <${Icon} name="trash" size=${16} /> Delete</button>`}`;
}

function Dialogs({ topic, state, reload }) {
  const { dialog, close } = state;
  if (!dialog) return null;
  const { name } = topic;
  async function remove() {
    await api.delete(`${path("topics", name)}${query({ confirm: name })}`);
    say(`Topic ${name} is deleted.`);
    go(["topics"]);
  }
  switch (dialog.name) {
    case "produce":
      return html`<${ProduceDialog} topic=${topic} record=${dialog.value} onClose=${close} />`;
    case "partitions":
      return html`<${AddPartitions} topic=${topic} onDone=${reload} onClose=${close} />`;
    case "purge":
      return html`<${Purge} topic=${topic} onDone=${reload} onClose=${close} />`;
    default:
      return html`<${Confirm} title=${`Delete ${name}`} verb="Delete the topic" word=${name} onConfirm=${remove} onClose=${close}>
        <p>All ${count(totals(topic).records)} records are gone for ever. Producers may create the topic again, if they are allowed to.</p>
      <//>`;
  }
}

function Part({ tab, topic, reload, open }) {
  async function change(changes) {
    await api.patch(path("topics", topic.name, "configs"), changes);
    reload();
  }
  switch (tab) {
    case "partitions":
      return html`<${Partitions} topic=${topic} />`;
    case "groups":
      return html`<${GroupsOf} groups=${topic.groups ?? []} />`;
    case "settings":
      if (!topic.configs) return html`<${Remark}>Your user may not see the settings of this topic: the ACL DESCRIBE_CONFIGS is missing.<//>`;
      return html`<${Configs} caption=${`Settings of ${topic.name}`} configs=${topic.configs}
        change=${may(topic, "ALTER_CONFIGS") ? change : null} />`;
    case "producers":
      return html`<${Producers} topic=${topic} />`;
    case "access":
      return html`<${AclsOf} type="TOPIC" name=${topic.name} />`;
    default:
      return html`<${Messages} topic=${topic} produce=${readOnly.value ? null : (record) => open("produce", record)} />`;
  }
}

/** The view; *tab* is its part. */
export function Topic({ name, tab = "messages" }) {
  const resource = useResource(path("topics", name));
  const live = useLive(`topic:${name}`);
  const state = useDialog();
  const topic = resource.data && live?.partitions ? { ...resource.data, ...live } : resource.data;
  const crumbs = [["Topics", ["topics"]]];
  if (!topic) {
    return html`<${Page} title=${name} crumbs=${crumbs}>
      ${resource.error ? html`<${Failure} error=${resource.error} retry=${resource.reload} />` : html`<${Waiting} />`}
    <//>`;
  }
  const { records, bytes: size, outOfSync, leaderless } = totals(topic);
  const at = (part) => ["topics", name, ...(part === "messages" ? [] : [part])];
  return html`<${Page} title=${name} crumbs=${crumbs} actions=${html`<${Actions} topic=${topic} open=${state.open} />`}
    note=${topic.internal && html`<${Badge}>internal<//> The broker keeps its own state in this topic.`}>
    <div class="tiles">
      <${Tile} label="Records" value=${compact(records)} hint=${count(records)} />
      <${Tile} label="Size" value=${bytes(size)} hint="of one copy" />
      <${Tile} label="Partitions" value=${count(topic.partitions.length)}
        hint=${plural(topic.partitions[0]?.replicas.length ?? 0, "copy", "copies")} />
      <${Tile} label="In sync" value=${count(topic.partitions.length - outOfSync)} tone=${leaderless ? "error" : outOfSync ? "warning" : ""}
        hint=${leaderless ? `${count(leaderless)} without a leader` : outOfSync ? `${count(outOfSync)} under-replicated` : "all of them"} />
    </div>
    <${Tabs} label="Parts of the topic" current=${tab} tabs=${[
      ["messages", "Messages", at("messages")],
      ["partitions", "Partitions", at("partitions"), topic.partitions.length],
      ["groups", "Groups", at("groups"), topic.groups?.length],
      ["settings", "Settings", at("settings")],
      ["producers", "Producers", at("producers")],
      ["access", "Access", at("access")],
    ]} />
    <${Part} tab=${tab} topic=${topic} reload=${resource.reload} open=${state.open} />
    <${Dialogs} topic=${topic} state=${state} reload=${resource.reload} />
  <//>`;
}
