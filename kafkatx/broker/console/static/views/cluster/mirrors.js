// Mirrors: the links to other clusters, what they copy, how far behind it is, and the promotion of mirrored topics.
import { html, useState } from "../../core/dom.js";
import { api, path } from "../../core/api.js";
import { useResource } from "../../core/resource.js";
import { href } from "../../core/router.js";
import { readOnly } from "../../core/session.js";
import { behind, count, plural, words } from "../../core/text.js";
import { Badge, Facts } from "../../parts/badge.js";
import { Confirm, useDialog } from "../../parts/dialog.js";
import { CheckField } from "../../parts/form.js";
import { Empty, Loaded, Page, Section } from "../../parts/page.js";
import { LocalTable } from "../../parts/table.js";
import { say } from "../../parts/toast.js";

const TONES = { active: "ok", mirroring: "ok", connected: "ok", running: "ok", promoted: "accent", stopped: "plain", failed: "error" };
const State = ({ state }) => html`<${Badge} tone=${TONES[(state ?? "").toLowerCase()] ?? "warning"}>${words(state)}<//>`;

const isPromoted = (topic) => /^(promoted|stopped)$/i.test(topic.state ?? "");

const COLUMNS = [
  { key: "name", title: "Topic", sort: "name", class: "name", cell: (topic) => html`<a
    href=${href(["topics", topic.name])}>${topic.name}</a>` },
  { key: "state", title: "State", sort: "state", cell: (topic) => html`<${State} state=${topic.state} />` },
  { key: "reason", title: "Reason", hide: "medium", class: "break", cell: (topic) => topic.reason ?? "" },
  { key: "partitions", title: "Partitions", align: "right", hide: "narrow", cell: (topic) => count(Array.isArray(topic.partitions) ? topic.partitions.length : topic.partitions) },
  { key: "lagMs", title: "Behind", sort: "lagMs", align: "right", hide: "narrow", cell: (topic) => behind(topic.lagMs) },
  { key: "lag", title: "Lag", sort: "lag", align: "right", cell: (topic) => count(topic.lag) },
];

function Promote({ link, onDone, onClose }) {
  const names = link.topics.filter((topic) => !isPromoted(topic)).map((topic) => topic.name);
  const [chosen, setChosen] = useState(new Set(names));
  async function promote() {
    await api.post(path("mirrors", link.name, "promote"), { topics: [...chosen], confirm: link.name });
    say(`${plural(chosen.size, "topic")} of ${link.name} can be written to now.`);
    onDone();
  }
  function choose(name, on) {
    const next = new Set(chosen);
    if (on) next.add(name);
    else next.delete(name);
    setChosen(next);
  }
  return html`<${Confirm} title=${`Promote topics of ${link.name}`} verb="Promote" word=${link.name}
    onConfirm=${promote} onClose=${onClose}>
    <p>Promoted topics end their mirror and take writes here. What the source has written after that is not copied any more; there is no way back.</p>
    <fieldset class="headers-form"><legend>Topics</legend>
      ${names.map((name) => html`<${CheckField} label=${name} checked=${chosen.has(name)}
        onChange=${(on) => choose(name, on)} />`)}
    </fieldset>
  <//>`;
}

function Link({ link, open }) {
  const can = !readOnly.value && link.topics.some((topic) => !isPromoted(topic));
  return html`<${Section} title=${link.name} plain
    actions=${can && html`<button type="button" class="button danger" onClick=${() => open("promote", link)}>Promote</button>`}>
    <div class="card">
      <${Facts} facts=${[
        ["State", html`<${State} state=${link.state} />`],
        ["Source", typeof link.source === "string" ? link.source : JSON.stringify(link.source)],
        ["Topics", count(link.topics.length)],
        link.errors?.length > 0 && ["Errors", link.errors.join("; ")],
        link.groupsError && ["Groups", link.groupsError],
      ]} />
    </div>
    ${link.topics.length > 0 && html`<div class="card flush"><${LocalTable} caption=${`Topics of ${link.name}`}
      columns=${COLUMNS} rows=${link.topics} first="name" keyOf=${(topic) => topic.name} /></div>`}
  <//>`;
}

/** The view. */
export function Mirrors() {
  const resource = useResource("mirrors?count=1000", { everyMs: 3000 });
  const { dialog, open, close } = useDialog();
  return html`<${Page} title="Mirrors" note="Topics of other clusters, copied here batch by batch with their offsets.">
    <${Loaded} resource=${resource}>
      ${({ items }) => items.length
        ? items.map((link) => html`<${Link} key=${link.name} link=${link} open=${open} />`)
        : html`<div class="card"><${Empty} icon="mirrors" title="No mirrors">
            A mirror copies topics of another cluster into this one. Name its source in the settings: <code>mirror.NAME.bootstrap.servers</code> and <code>mirror.NAME.topics</code>.
          <//></div>`}
    <//>
    ${dialog && html`<${Promote} link=${dialog.value} onDone=${resource.reload} onClose=${close} />`}
  <//>`;
}
