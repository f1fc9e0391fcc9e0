// Dialogs that change a topic: more partitions, and records that go.
import { html, useState } from "../../core/dom.js";
import { api, path } from "../../core/api.js";
import { count } from "../../core/text.js";
import { Confirm, FormDialog } from "../../parts/dialog.js";
import { TextField, wrongNumber } from "../../parts/form.js";
import { Remark } from "../../parts/page.js";
import { say } from "../../parts/toast.js";

/** The dialog that adds partitions. */
export function AddPartitions({ topic, onDone, onClose }) {
  const now = topic.partitions.length;
  const [number, setNumber] = useState(String(now + 1));
  const wrong = wrongNumber(number, now + 1);
  async function add() {
    await api.post(path("topics", topic.name, "partitions"), { count: Number(number) });
    say(`${topic.name} has ${number} partitions.`);
    onDone();
  }
  return html`<${FormDialog} title=${`Partitions of ${topic.name}`} verb="Add" ready=${!wrong} onSubmit=${add} onClose=${onClose}>
    <${TextField} label="Partitions from now on" inputmode="numeric" value=${number} error=${wrong}
      hint=${`There are ${now} now; there can never be fewer.`} onChange=${setNumber} />
    <${Remark} tone="warning">
      Records with a key may go to another partition than before, so their order is not kept across this change.<//>
  <//>`;
}

/** The dialog that deletes the records of all partitions, or those before an offset of one. */
export function Purge({ topic, onDone, onClose }) {
  const [partition, setPartition] = useState("");
  const [before, setBefore] = useState("");
  const whole = partition === "";
  const chosen = topic.partitions.find((one) => String(one.partition) === partition);
  async function purge() {
    const offsets = whole ? topic.partitions.map((one) => [String(one.partition), "-1"]) : [[partition, before === "" ? "-1" : before]];
    await api.post(path("topics", topic.name, "purge"), { beforeOffsets: Object.fromEntries(offsets) });
    say(`Records of ${topic.name} are deleted.`);
    onDone();
  }
  return html`<${Confirm} title=${`Purge ${topic.name}`} verb="Delete the records" word=${topic.name}
    onConfirm=${purge} onClose=${onClose}>
    <div class="fields">
      <${TextField} label="Partition" placeholder="all" inputmode="numeric" value=${partition} onChange=${setPartition}
        error=${whole || chosen ? null : `There is no partition ${partition}.`} />
      ${!whole && html`<${TextField} label="Before offset"
        placeholder=${chosen ? `all, up to ${count(chosen.endOffset)}` : ""} inputmode="numeric" value=${before}
        onChange=${setBefore} />`}
    </div>
    <p>${whole ? "All records of all partitions are deleted." : "Records before that offset are deleted."} The topic, its settings and its offsets stay.</p>
  <//>`;
}
