// The login: with the name and password of a Kafka user, or with a token. The ACLs of the principal then decide.
import { html, useEffect, useRef, useState } from "../core/dom.js";
import { useAction } from "../core/resource.js";
import { logIn, session } from "../core/session.js";
import { Choice, TextField } from "../parts/form.js";
import { Failure } from "../parts/page.js";

const WAYS = [
  ["password", "Password"],
  ["token", "Token"],
];

const Password = ({ values, set }) => html`<${TextField} label="User" name="username" autocomplete="username" required
    value=${values.username} onChange=${(username) => set({ ...values, username })} />
  <${TextField} label="Password" name="password" type="password" autocomplete="current-password" required
    value=${values.password} onChange=${(password) => set({ ...values, password })} />`;

const Token = ({ values, set }) => html`<${TextField} label="Access token" name="token" type="password" required
  hint="A JSON Web Token of your issuer, as clients log in with. The session ends when it expires."
  value=${values.token} onChange=${(token) => set({ ...values, token })} />`;

/** The page that is shown instead of all others. */
export function Login() {
  const ways = session.value?.authentication ?? "password";
  const [chosen, setChosen] = useState("password");
  const [values, setValues] = useState({ username: "", password: "", token: "" });
  const way = ways === "both" ? chosen : ways;
  const { username, password, token } = values;
  const { run, busy, error } = useAction(() => logIn(way === "token" ? { token } : { username, password }));
  const form = useRef(null);
  useEffect(() => {
    document.title = "Log in · kafkatx";
    form.current?.querySelector("input:not([type=radio])")?.focus();
  }, [way]);
  function submitted(event) {
    event.preventDefault();
    run();
  }
  const Fields = way === "token" ? Token : Password;
  return html`<main id="main" class="login" tabindex="-1">
    <div class="card">
      <span class="brand"><img src="static/icon.svg" alt="" width="30" height="30" />kafkatx</span>
      <h1>Log in</h1>
      <form ref=${form} onSubmit=${submitted}>
        ${ways === "both" && html`<${Choice} label="Log in with" value=${way} options=${WAYS} onChange=${setChosen} />`}
        <${Fields} values=${values} set=${setValues} />
        <${Failure} error=${error} />
        <button type="submit" class="button primary" disabled=${busy || !(way === "token" ? token : username)}>
          ${busy ? "One moment …" : "Log in"}</button>
      </form>
      <p class="note">Users of this Kafka cluster log in here; their ACLs decide what they see and change.</p>
    </div>
  </main>`;
}
