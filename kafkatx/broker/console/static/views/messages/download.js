// Records as a file of JSON lines: those of one reading, so never more than it may show.
import { html } from "../../core/dom.js";
import { useAction } from "../../core/resource.js";
import { readStream } from "../../core/stream.js";
import { Icon } from "../../parts/icon.js";
import { Failure } from "../../parts/page.js";
import { downloadResource } from "./query.js";

const MOST_CHARACTERS = 64_000_000;

/** Read what *request* asks for; return the lines. Fails if the broker refuses, or the file would be too large. */
export async function recordLines(request) {
  const controller = new AbortController();
  const lines = [];
  let size = 0;
  let failure = null;
  await readStream(downloadResource(request), {
    signal: controller.signal,
    onEvent: (name, data) => {
      if (name === "failure") failure = data;
      if (name !== "record") return;
      const line = JSON.stringify(data);
      size += line.length;
      if (size > MOST_CHARACTERS) {
        failure = { message: "The records are too large for one file: choose fewer." };
        controller.abort();
      } else lines.push(line);
    },
  });
  if (failure) throw new Error(failure.message);
  return lines;
}

function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The button. */
export function Download({ request }) {
  const { run, busy, error } = useAction(async () => {
    const lines = await recordLines(request);
    save(`${request.topic}.jsonl`, lines.map((line) => `${line}\n`).join(""));
  });
  return html`<button type="button" class="button small" disabled=${busy} onClick=${() => run()}>
      <${Icon} name="down" size=${14} /> ${busy ? "One moment …" : "Download"}</button>
    <${Failure} error=${error} />`;
}
