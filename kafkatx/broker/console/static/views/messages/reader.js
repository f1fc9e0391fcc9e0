// The state of reading: one stream at a time, which reads a part of a topic and ends, or follows what is written.
// Records come fast; they are collected and shown once per frame of the screen.
import { batch, signal } from "../../core/dom.js";
import { readStream } from "../../core/stream.js";
import { visible } from "../../core/visibility.js";
import { oneResource, readResource, tailResource } from "./query.js";

const MOST_SHOWN = 2000;
const MOST_FOLLOWED = 500;

/** Reads messages; its signals are drawn by the browser. */
export class Reader {
  constructor() {
    this.mode = signal("idle"); // "idle", "read" or "tail"
    this.running = signal(false);
    this.paused = signal(false);
    this.records = signal([]);
    this.held = signal(0); // records that came during a pause
    this.progress = signal(null);
    this.ended = signal(null);
    this.error = signal(null);
    this.controller = null;
    this.resource = null;
    this.arrived = [];
    this.frame = 0;
  }

  /** Read what *request* asks for, from the beginning or on from the last end. */
  read(request, { goOn = false } = {}) {
    const next = goOn ? this.ended.peek()?.next : null;
    if (!goOn) this.records.value = [];
    this.start("read", readResource(request, next));
  }

  /** Follow what is written. */
  tail(request) {
    this.records.value = [];
    this.start("tail", tailResource(request));
  }

  /** True if it follows what *request* asks for. */
  follows(request) {
    return this.mode.peek() === "tail" && this.running.peek() && this.resource === tailResource(request);
  }

  start(mode, resource) {
    this.cancel();
    this.resource = resource;
    const controller = new AbortController();
    this.controller = controller;
    this.arrived = [];
    batch(() => {
      this.mode.value = mode;
      this.running.value = true;
      this.paused.value = false;
      this.held.value = 0;
      this.progress.value = null;
      this.ended.value = null;
      this.error.value = null;
    });
    const stop = mode === "tail" ? visible.subscribe((seen) => seen || this.cancel()) : () => {};
    readStream(resource, { signal: controller.signal, onEvent: (name, data) => this.take(name, data) })
      .catch((error) => { this.error.value = error; })
      .finally(() => {
        stop();
        if (this.controller === controller) this.finish();
      });
  }

  take(name, data) {
    if (name === "record") {
      this.arrived.push(data);
      if (this.arrived.length > MOST_SHOWN) this.arrived.shift();
      if (this.paused.peek()) this.held.value += 1;
    } else if (name === "progress") {
      this.progress.value = data;
    } else if (name === "end") {
      this.progress.value = data;
      this.ended.value = data;
    } else if (name === "failure") {
      this.error.value = Object.assign(new Error(data.message), { code: data.code });
    }
    if (!this.frame) this.frame = requestAnimationFrame(() => this.show());
  }

  show() {
    this.frame = 0;
    if (this.paused.peek() || !this.arrived.length) return;
    const arrived = this.arrived;
    this.arrived = [];
    const shown = this.records.peek();
    this.records.value =
      this.mode.peek() === "tail"
        ? [...arrived.reverse(), ...shown].slice(0, MOST_FOLLOWED)
        : [...shown, ...arrived].slice(0, MOST_SHOWN);
  }

  /** Hold what comes back, or show it again. */
  pause(paused) {
    this.paused.value = paused;
    this.held.value = 0;
    if (!paused) this.show();
  }

  /** Stop; what was read stays. The broker stops its work, too. */
  cancel() {
    this.controller?.abort();
    this.controller = null;
    if (this.running.peek()) this.finish();
  }

  finish() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.show();
    this.running.value = false;
  }
}

/** Return one record again with all of its key and value, in these formats; fails if it is not there any more. */
export async function readWhole(topic, record, formats) {
  const controller = new AbortController();
  let found = null;
  let failure = null;
  await readStream(oneResource(topic, record, formats), {
    signal: controller.signal,
    onEvent: (name, data) => {
      if (name === "record" && data.partition === record.partition && data.offset === record.offset) found = data;
      if (name === "failure") failure = data;
    },
  });
  if (failure) throw new Error(failure.message);
  if (!found) throw new Error("This record is not there any more.");
  return found;
}
