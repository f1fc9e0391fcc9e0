// The login: with the name and password of a Kafka user, whose ACLs then decide.
import { html, useEffect, useRef, useState } from "../core/dom.js";
import { useAction } from "../core/resource.js";
import { logIn } from "../core/session.js";
import { TextField } from "../parts/form.js";
import { Failure } from "../parts/page.js";

/** The page that is shown instead of all others. */
export function Login() {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const { run, busy, error } = useAction(() => logIn(username, password));
  const form = useRef(null);
  useEffect(() => {
    document.title = "Log in · kafkatx";
    form.current?.querySelector("input")?.focus();
  }, []);
  function submitted(event) {
    event.preventDefault();
    run();
  }
  return html`<main id="main" class="login" tabindex="-1">
    <div class="card">
      <span class="brand"><img src="static/icon.svg" alt="" width="30" height="30" />kafkatx</span>
      <h1>Log in</h1>
      <form ref=${form} onSubmit=${submitted}>
        <${TextField} label="User" name="username" autocomplete="username" required value=${username} onChange=${setUsername} />
        <${TextField} label="Password" name="password" type="password" autocomplete="current-password" required
          value=${password} onChange=${setPassword} />
        <${Failure} error=${error} />
        <button type="submit" class="button primary" disabled=${busy || !username}>${busy ? "One moment …" : "Log in"}</button>
      </form>
      <p class="note">Users of this Kafka cluster log in here; their ACLs decide what they see and change.</p>
    </div>
  </main>`;
}
