// The dialog that creates a topic. The broker checks the request first, without creating anything.
import { html, useState } from "../../core/dom.js";
import { api } from "../../core/api.js";
import { go } from "../../core/router.js";
import { FormDialog } from "../../parts/dialog.js";
import { SelectField, TextField, wrongNumber } from "../../parts/form.js";
import { Pairs } from "../../parts/pairs.js";
import { say } from "../../parts/toast.js";

const NAME = /^[A-Za-z0-9._-]{1,249}$/;
const RETENTIONS = [
  ["", "as the broker's default"],
  ["3600000", "1 hour"],
  ["86400000", "1 day"],
  ["604800000", "1 week"],
  ["2592000000", "30 days"],
  ["-1", "for ever"],
];
const CLEANUPS = [
  ["", "as the broker's default"],
  ["delete", "delete old records"],
  ["compact", "keep the newest of each key"],
  ["compact,delete", "both"],
];

function wrongName(name) {
  if (name === "" || (NAME.test(name) && name !== "." && name !== "..")) return null;
  return "Letters, digits, dot, underscore and hyphen; at most 249.";
}

/** The dialog; goes to the topic's page when it is there. */
export function CreateTopic({ onClose }) {
  const [name, setName] = useState("");
  const [partitions, setPartitions] = useState("1");
  const [copies, setCopies] = useState("");
  const [retention, setRetention] = useState("");
  const [cleanup, setCleanup] = useState("");
  const [others, setOthers] = useState([]);
  const wrong = {
    name: wrongName(name),
    partitions: wrongNumber(partitions),
    copies: copies === "" ? null : wrongNumber(copies),
  };
  async function create() {
    const configs = Object.fromEntries(others.filter(([key]) => key));
    if (retention) configs["retention.ms"] = retention;
    if (cleanup) configs["cleanup.policy"] = cleanup;
    const wanted = { name, partitions: Number(partitions), replicationFactor: copies === "" ? -1 : Number(copies), configs };
    await api.post("topics", { ...wanted, validateOnly: false });
    say(`Topic ${name} is created.`);
    go(["topics", name]);
  }
  return html`<${FormDialog} title="Create a topic" verb="Create"
    ready=${name !== "" && !Object.values(wrong).some(Boolean)} onSubmit=${create} onClose=${onClose}>
    <${TextField} label="Name" name="name" value=${name} error=${wrong.name} onChange=${setName} />
    <div class="fields">
      <${TextField} label="Partitions" name="partitions" inputmode="numeric" value=${partitions}
        error=${wrong.partitions} onChange=${setPartitions} />
      <${TextField} label="Copies" name="copies" inputmode="numeric" placeholder="default"
        hint="Brokers that hold each partition." value=${copies} error=${wrong.copies} onChange=${setCopies} />
    </div>
    <div class="fields">
      <${SelectField} label="Keep records" value=${retention} options=${RETENTIONS} onChange=${setRetention} />
      <${SelectField} label="Clean up" value=${cleanup} options=${CLEANUPS} onChange=${setCleanup} />
    </div>
    <${Pairs} label="Other settings" names=${["Setting", "Value"]} pairs=${others} add="Add a setting" onChange=${setOthers} />
  <//>`;
}
