// The difference of two texts by lines: the longest common subsequence, after what begins and ends alike is set aside.

const MOST_CELLS = 4_000_000;

function common(a, b) {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        a[i] === b[j] ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  return { lengths, width };
}

function middle(a, b, firstLeft, firstRight) {
  const removed = (i) => ({ kind: "removed", left: firstLeft + i + 1, right: null, text: a[i] });
  const added = (j) => ({ kind: "added", left: null, right: firstRight + j + 1, text: b[j] });
  if (a.length * b.length > MOST_CELLS) return [...a.map((_, i) => removed(i)), ...b.map((_, j) => added(j))];
  const { lengths, width } = common(a, b);
  const rows = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      rows.push({ kind: "same", left: firstLeft + i + 1, right: firstRight + j + 1, text: a[i] });
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
      rows.push(removed(i));
      i += 1;
    } else {
      rows.push(added(j));
      j += 1;
    }
  }
  return rows;
}

/** Return rows {kind: "same"|"removed"|"added", left, right, text}; left and right are line numbers from 1, or null. */
export function difference(before, after) {
  const a = before.split("\n");
  const b = after.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const same = (i, j, text) => ({ kind: "same", left: i + 1, right: j + 1, text });
  return [
    ...a.slice(0, start).map((text, i) => same(i, i, text)),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end), start, start),
    ...a.slice(a.length - end).map((text, i) => same(a.length - end + i, b.length - end + i, text)),
  ];
}

/** Return rows [left, right] for two columns: a removed line stands beside the added one that took its place. */
export function sideBySide(rows) {
  const pairs = [];
  let gone = [];
  let come = [];
  const flush = () => {
    for (let i = 0; i < Math.max(gone.length, come.length); i += 1) pairs.push([gone[i] ?? null, come[i] ?? null]);
    gone = [];
    come = [];
  };
  for (const row of rows) {
    if (row.kind === "removed") gone.push(row);
    else if (row.kind === "added") come.push(row);
    else {
      flush();
      pairs.push([row, row]);
    }
  }
  flush();
  return pairs;
}
