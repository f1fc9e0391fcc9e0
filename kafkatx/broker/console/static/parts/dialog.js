// Dialogs: the browser's own <dialog>, which traps the focus, closes on Escape, and gives the focus back.
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "../core/dom.js";
import { route } from "../core/router.js";
import { useAction } from "../core/resource.js";
import { Failure } from "./page.js";
import { Icon } from "./icon.js";

/** A modal dialog, open as long as it is drawn. *wide* is for editors. */
export function Dialog({ title, onClose, wide = false, children }) {
  const box = useRef(null);
  const id = useId();
  const here = route.value.segments.join("/");
  const opened = useRef(here);
  useEffect(() => {
    if (here !== opened.current) onClose(); // Back, or another address: the page below it has gone
  }, [here]);
  useLayoutEffect(() => {
    const before = document.activeElement;
    const dialog = box.current;
    dialog.showModal();
    const first = dialog.querySelector("input, select, textarea") ?? dialog.querySelector(".dialog-foot button");
    first?.focus();
    return () => {
      dialog.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  function cancelled(event) {
    event.preventDefault();
    onClose();
  }
  return html`<dialog ref=${box} class=${wide ? "wide" : ""} aria-labelledby=${id} onCancel=${cancelled}>
    <header class="dialog-head">
      <h2 id=${id}>${title}</h2>
      <button type="button" class="button quiet icon-only" aria-label="Close" onClick=${onClose}><${Icon} name="close" /></button>
    </header>
    ${children}
  </dialog>`;
}

/** A dialog with a form: *onSubmit* is async; when it has succeeded, the dialog closes, unless *stay*. */
export function FormDialog({ title, verb, danger = false, wide, stay = false, ready = true, onSubmit, onClose, children, beside }) {
  const { run, busy, error } = useAction(async () => {
    await onSubmit();
    if (!stay) onClose();
  });
  function submitted(event) {
    event.preventDefault();
    if (ready) run();
  }
  return html`<${Dialog} title=${title} wide=${wide} onClose=${onClose}>
    <form onSubmit=${submitted}>
      <div class="dialog-body">${children}<${Failure} error=${error} /></div>
      <footer class="dialog-foot">
        ${beside}
        <button type="button" class="button" onClick=${onClose}>${stay ? "Close" : "Cancel"}</button>
        <button type="submit" class=${danger ? "button danger" : "button primary"} disabled=${busy || !ready}>
          ${busy ? "One moment …" : verb}
        </button>
      </footer>
    </form>
  <//>`;
}

/** Asks before something that cannot be undone. With *word*, that word has to be typed. */
export function Confirm({ title, verb, word, onConfirm, onClose, children }) {
  const [typed, setTyped] = useState("");
  const id = useId();
  return html`<${FormDialog} title=${title} verb=${verb} danger ready=${!word || typed === word}
    onSubmit=${onConfirm} onClose=${onClose}>
    ${children}
    ${word &&
    html`<div class="field">
      <label for=${id}>Type <code class="word">${word}</code> to confirm</label>
      <input id=${id} value=${typed} onInput=${(event) => setTyped(event.currentTarget.value)} autocomplete="off"
        spellcheck="false" />
    </div>`}
  <//>`;
}

/** Keeps which dialog is open: {dialog, open(name, value), close}. */
export function useDialog() {
  const [dialog, setDialog] = useState(null);
  useEffect(() => () => setDialog(null), []);
  return { dialog, open: (name, value) => setDialog({ name, value }), close: () => setDialog(null) };
}
