// JSON as it is written, laid out in lines and cut into tokens. Numbers stay as they are: JSON.parse would
// round those above 2^53, and a schema's or record's text should never change by being looked at.

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/y;
const SPACE = /\s*/y;
const LARGEST = 1_000_000;

/** Return the tokens of a JSON text, or null if it is none. */
function tokens(text) {
  const found = [];
  let place = 0;
  for (;;) {
    SPACE.lastIndex = place;
    SPACE.exec(text);
    place = SPACE.lastIndex;
    if (place === text.length) return found;
    TOKEN.lastIndex = place;
    const match = TOKEN.exec(text);
    if (!match) return null;
    found.push(match[0]);
    place = TOKEN.lastIndex;
  }
}

function valid(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const kind = (token, next) => {
  if (token[0] === '"') return next === ":" ? "name" : "string";
  if (/[-\d]/.test(token[0])) return "number";
  return /[tfn]/.test(token[0]) ? "word" : "mark";
};

/** Return the pieces [kind, text] of a JSON text, laid out with two blanks a level; null if it is no JSON or too long. */
export function pretty(text) {
  if (text.length > LARGEST || !/^\s*[[{"\-\dtfn]/.test(text) || !valid(text)) return null;
  const all = tokens(text);
  if (all === null) return null;
  const pieces = [];
  let depth = 0;
  const line = () => pieces.push(["mark", `\n${"  ".repeat(depth)}`]);
  all.forEach((token, index) => {
    const opens = token === "{" || token === "[";
    const closes = token === "}" || token === "]";
    const empty = opens && (all[index + 1] === "}" || all[index + 1] === "]");
    const wasEmpty = closes && (all[index - 1] === "{" || all[index - 1] === "[");
    if (closes && !wasEmpty) {
      depth -= 1;
      line();
    }
    pieces.push([kind(token, all[index + 1]), token === ":" ? ": " : token]);
    if (opens && !empty) {
      depth += 1;
      line();
    }
    if (token === ",") line();
  });
  return pieces;
}

/** Return a text laid out if it is JSON, else as it is. */
export function laidOut(text) {
  const pieces = pretty(text);
  return pieces === null ? text : pieces.map(([, piece]) => piece).join("");
}
