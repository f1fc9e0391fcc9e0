// Who is at the console, and what the server lets this console do.
import { computed, signal } from "./dom.js";
import { api, isPassing, onSessionEnd } from "./api.js";

/** The answer of GET session; null until it has come. */
export const session = signal(null);

/** True if the server wants a login that there is not (any more). */
export const loginNeeded = signal(false);

/** Why the first request failed, or null. */
export const startError = signal(null);

/** True if nothing may be changed here: controls that change things are not drawn. */
export const readOnly = computed(() => session.value?.readOnly ?? true);

/** Difference between the server's clock and the browser's, in ms. */
export const clockSkewMs = computed(() => session.value?.skewMs ?? 0);

/** Return the server's time in ms since 1970. */
export const serverNow = () => Date.now() + clockSkewMs.peek();

onSessionEnd(() => {
  loginNeeded.value = true;
});

function accept(answer) {
  session.value = { ...answer, skewMs: (answer.serverTimeMs ?? Date.now()) - Date.now() };
  loginNeeded.value = answer.authentication !== "none" && answer.principal === null;
}

const AGAIN_MS = 2000;
let again = 0;

/** Ask the server about the session; ask again while it does not answer. */
export async function loadSession() {
  clearTimeout(again);
  try {
    accept(await api.get("session"));
    startError.value = null;
  } catch (error) {
    if (error.status === 401) return;
    startError.value = error;
    if (isPassing(error)) again = setTimeout(loadSession, AGAIN_MS);
  }
}

/** Log in with {username, password} or {token}; fails with ApiError. */
export async function logIn(credentials) {
  accept(await api.post("session", credentials));
  loginNeeded.value = false;
}

/** Log out. */
export async function logOut() {
  await api.delete("session");
  session.value = { ...session.value, principal: null };
  loginNeeded.value = true;
}
