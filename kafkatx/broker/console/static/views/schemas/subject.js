// One subject: its versions, the schema of one of them, and what has changed since another.
import { html, useState } from "../../core/dom.js";
import { api, path } from "../../core/api.js";
import { laidOut } from "../../core/pretty.js";
import { useAction, useResource } from "../../core/resource.js";
import { href, route, setQuery } from "../../core/router.js";
import { readOnly } from "../../core/session.js";
import { plural } from "../../core/text.js";
import { Badge, CopyButton, Facts } from "../../parts/badge.js";
import { Code, Difference } from "../../parts/code.js";
import { useDialog } from "../../parts/dialog.js";
import { SelectField } from "../../parts/form.js";
import { Icon } from "../../parts/icon.js";
import { Failure, Loaded, Page, Section } from "../../parts/page.js";
import { say } from "../../parts/toast.js";
import { RegisterDialog } from "./register.js";

const LEVELS = ["BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE", "NONE"];

const version = (subject, number) => (number === null ? null : path("schemas", subject, "versions", String(number)));

function Compatibility({ subject, data, reload }) {
  const { run, busy, error } = useAction(async (level) => {
    await api.put(path("schemas", subject, "compatibility"), { level });
    say(`New versions of ${subject} are checked as ${level}.`);
    reload();
  });
  if (readOnly.value) return html`<${Facts}
    facts=${[["Compatibility", data.compatibility], data.mode && ["Mode", data.mode]]} />`;
  return html`<div class="fields">
      <${SelectField} label="Compatibility" hint="What a new version is checked against before it is registered." disabled=${busy}
        value=${data.compatibility} options=${[...new Set([data.compatibility, ...LEVELS])].sort()} onChange=${run} />
    </div><${Failure} error=${error} />`;
}

function References({ references }) {
  if (!references?.length) return null;
  return html`<p class="note">Refers to ${references.map((one, place) => html`${place > 0 && ", "}<a
    href=${href(["schemas", one.subject], { version: String(one.version) })}>${one.subject}</a> version ${one.version}`)}.</p>`;
}

function Versions({ subject, data, evolve }) {
  const numbers = data.versions.map((one) => one.version).sort((a, b) => b - a);
  const { query } = route.value;
  const shown = numbers.includes(Number(query.version)) ? Number(query.version) : numbers[0];
  const other = numbers.includes(Number(query.with)) && Number(query.with) !== shown ? Number(query.with) : null;
  const resource = useResource(version(subject, shown));
  const before = useResource(version(subject, other));
  const options = numbers.map((number) => [String(number), `version ${number}`]);
  return html`<${Section} title="Schema" actions=${evolve}>
    <div class="fields">
      <${SelectField} label="Version" value=${String(shown)} options=${options}
        onChange=${(value) => setQuery({ version: value })} />
      <${SelectField} label="Compare with" value=${other === null ? "" : String(other)}
        options=${[["", "nothing"], ...options.filter(([value]) => value !== String(shown))]}
        onChange=${(value) => setQuery({ with: value })} />
    </div>
    <div class="stack">
      <${Loaded} resource=${resource}>
        ${(schema) => html`
          <div class="toolbar"><${Badge} tone="accent">
            ${schema.type}<//> <span class="muted">id ${schema.id}</span> <${CopyButton}
            text=${schema.schema} label="Copy schema" /></div>
          <${References} references=${schema.references} />
          ${other === null
            ? html`<${Code} text=${schema.schema} label=${`Schema of version ${shown}`} />`
            : html`<${Loaded} resource=${before}>
                ${(old) => html`<${Difference} before=${laidOut(old.schema)} after=${laidOut(schema.schema)}
                  beforeLabel=${`version ${other}`} afterLabel=${`version ${shown}`} />`}
              <//>`}`}
      <//>
    </div>
  <//>`;
}

/** The view. */
export function Subject({ subject }) {
  const resource = useResource(path("schemas", subject));
  const { dialog, open, close } = useDialog();
  const [newest, setNewest] = useState(null);
  async function evolve() {
    const last = Math.max(...resource.data.versions.map((one) => one.version));
    setNewest(await api.get(version(subject, last)));
    open("register");
  }
  const { run, error } = useAction(evolve);
  return html`<${Page} title=${subject} crumbs=${[["Schemas", ["schemas"]]]}
    note=${resource.data && plural(resource.data.versions.length, "version")}>
    <${Loaded} resource=${resource}>
      ${(data) => html`<div class="card"><${Compatibility} subject=${subject} data=${data} reload=${resource.reload} /></div>
        <${Failure} error=${error} />
        <${Versions} subject=${subject} data=${data}
          evolve=${!readOnly.value && html`<button type="button" class="button primary" onClick=${() => run()}>
            <${Icon} name="plus" size=${16} /> New version</button>`} />`}
    <//>
    ${dialog && html`<${RegisterDialog} subject=${subject} newest=${newest} onDone=${resource.reload} onClose=${close} />`}
  <//>`;
}
