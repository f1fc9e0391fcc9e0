// Server-sent events over fetch. EventSource would hide the status and the body of a refusal, and would
// ask again by itself; a reader of messages needs the first and must not do the second.
import { refusal, send } from "./api.js";

/**
 * Read the stream of *resource* until it ends or *signal* aborts it; call *onEvent(name, data)* for each event.
 * Fails with ApiError if the server refuses; an abort is no failure.
 */
export async function readStream(resource, { signal, onEvent, onOpen = () => {} }) {
  try {
    const response = await send(resource, { signal, headers: { Accept: "text/event-stream" } });
    if (!response.ok) throw await refusal(response);
    onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser(onEvent);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(value);
    }
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
}

/** Cuts text into events: "event:" and "data:" lines up to an empty line; other lines are ignored. */
export class EventParser {
  constructor(onEvent) {
    this.onEvent = onEvent;
    this.rest = "";
    this.name = "message";
    this.data = [];
  }

  feed(text) {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop();
    for (const line of lines) this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  line(line) {
    if (line === "") {
      if (this.data.length) this.onEvent(this.name, JSON.parse(this.data.join("\n")));
      this.name = "message";
      this.data = [];
    } else if (line.startsWith("event:")) {
      this.name = line.slice(6).trim();
    } else if (line.startsWith("data:")) {
      this.data.push(line.slice(5));
    }
  }
}
