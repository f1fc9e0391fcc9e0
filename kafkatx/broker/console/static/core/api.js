// Calls of the console's HTTP API. A failure is an ApiError, whose message is meant for people.
// Nothing is kept here: a session that has ended is told to the listener, which shows the login page.

const BASE = new URL("../../api/v1/", import.meta.url);

/** What the server refused, or why it did not answer: an HTTP status (0: no answer), Kafka's code and a message. */
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** True if the broker does not answer, or not yet: the same request may succeed later. */
export const isPassing = (error) => error.status === 0 || (error.status >= 502 && error.status <= 504);

let sessionEnded = () => {};

/** Call *listener* whenever the server says that a login is needed. */
export function onSessionEnd(listener) {
  sessionEnded = listener;
}

/** Return the path of a resource: each part is escaped, so a name may hold any character. */
export const path = (...parts) => parts.map((part) => encodeURIComponent(part)).join("/");

/** Return a query string of the values that are set. */
export function query(values) {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return pairs.length ? `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}` : "";
}

/** Return the address of a resource. */
export const address = (resource) => new URL(resource, BASE);

/** Return the error that a response tells. */
export async function refusal(response) {
  let told = null;
  try {
    told = (await response.json()).error;
  } catch {
    // No JSON: a proxy's page, perhaps. The status says what there is to say.
  }
  if (response.status === 401) sessionEnded();
  const message = told?.message ?? `The broker answered with status ${response.status} ${response.statusText}`.trim();
  return new ApiError(response.status, told?.code ?? "HTTP", message);
}

/** Send a request; return the response, whatever its status. Fails with ApiError if there is none. */
export async function send(resource, options) {
  try {
    return await fetch(address(resource), {
      credentials: "same-origin",
      ...options,
      headers: { "X-Kafkatx-Console": "1", ...options.headers },
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "UNREACHABLE", "The broker does not answer. Is it running, and is this still its address?");
  }
}

async function call(method, resource, body, signal) {
  const options = { method, signal, headers: {} };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  const response = await send(resource, options);
  if (!response.ok) throw await refusal(response);
  if (response.status === 204) return null;
  const text = await response.text();
  const answer = text ? JSON.parse(text) : null;
  const failed = answer?.results?.find((result) => result.error);
  if (failed) throw new ApiError(response.status, failed.error.code, failed.error.message);
  return answer;
}

export const api = {
  get: (resource, signal) => call("GET", resource, undefined, signal),
  post: (resource, body) => call("POST", resource, body ?? {}),
  put: (resource, body) => call("PUT", resource, body),
  patch: (resource, body) => call("PATCH", resource, body),
  delete: (resource, body) => call("DELETE", resource, body),
};
