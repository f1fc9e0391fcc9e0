// "Why slow?": what the broker finds out about a group in two seconds, in sentences with advice; asked for by a button.
import { html, useState } from "../../core/dom.js";
import { api, query } from "../../core/api.js";
import { useAction } from "../../core/resource.js";
import { Failure, Remark, Section } from "../../parts/page.js";

const TONES = ["ok", "info", "warning"];

/** Return {ask, busy, sentences, error}: *ask()* has the broker look; sentences is null before that. */
export function useExplanation(group) {
  const [sentences, setSentences] = useState(null);
  const { run, busy, error } = useAction(async () => {
    setSentences(null);
    setSentences((await api.get(`explanations${query({ group })}`)).sentences);
  });
  return { ask: () => run(), busy, sentences, error };
}

/** The answer; nothing before it was asked for. */
export function Explanation({ explanation: { busy, sentences, error } }) {
  if (!busy && !sentences && !error) return null;
  return html`<${Section} title="Why slow?" plain>
    <div class="stack" role="status">
      ${busy && html`<p class="note">The broker looks for two seconds …</p>`}
      <${Failure} error=${error} />
      ${sentences?.length === 0 && html`<${Remark} tone="ok">Nothing holds this group up.<//>`}
      ${(sentences ?? []).map(
        ({ text, advice, severity }) => html`<${Remark} tone=${TONES[severity] ?? "info"} key=${text}>
          <p>${text}</p>${advice && html`<p class="note">${advice}</p>`}
        <//>`,
      )}
    </div>
  <//>`;
}
