// Start of the console: finds out about the session, then draws the frame and the view of the address.
import { html, render, useEffect, useErrorBoundary } from "./core/dom.js";
import { route } from "./core/router.js";
import { loadSession, loginNeeded, session, startError } from "./core/session.js";
import "./core/theme.js";
import { Failure, Waiting } from "./parts/page.js";
import { Frame } from "./parts/frame.js";
import { Toasts } from "./parts/toast.js";
import { viewOf } from "./routes.js";
import { Login } from "./views/login.js";

function View() {
  const { view: Drawn, parameters, key } = viewOf(route.value);
  const [failure, reset] = useErrorBoundary((error) => console.error(error));
  useEffect(() => {
    if (failure) reset();
  }, [key]);
  if (failure) return html`<${Failure} error=${failure} retry=${reset} />`;
  return Drawn ? html`<${Drawn} key=${key} ...${parameters} />` : html`<${Waiting} />`;
}

function App() {
  if (startError.value) return html`<main id="main" class="login"><${Failure} error=${startError.value}
    retry=${loadSession} /></main>`;
  if (loginNeeded.value) return html`<${Login} />`;
  if (!session.value) return html`<main id="main"><${Waiting} /></main>`;
  return html`<${Frame}><${View} /><//><${Toasts} />`;
}

function shortcut(event) {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing) return;
  const search = [...document.querySelectorAll("[data-search]")].at(-1);
  if (search) {
    event.preventDefault();
    search.focus();
    search.select();
  }
}

function skip(event) {
  if (!event.target.closest?.("a.skip")) return;
  event.preventDefault();
  document.querySelector("#main h1, #main")?.focus();
}

document.addEventListener("keydown", shortcut);
document.addEventListener("click", skip);
render(html`<${App} />`, document.getElementById("app"));
loadSession();
