import { expect, test } from "vitest";
import { LastHeard, MAX_POKES_DUE } from "../../../src/core/pool/rows/last-heard.ts";

test("those that have been silent for longest are named, and no others", () => {
  const heard = new LastHeard();
  for (const [n, name] of ["a", "b", "c"].entries()) heard.note(name, n);
  expect(heard.silentSince(1)).toEqual(["a", "b"]);
  heard.note("a", 2);
  expect(heard.silentSince(1)).toEqual(["b"]);
  heard.note("a", 0); // says nothing: it was heard of later
  expect(heard.silentSince(2)).toEqual(["b", "c", "a"]);
  heard.delete("c");
  expect(heard.silentSince(2)).toEqual(["b", "a"]);
});

test("of a queue that falls silent at once so many are named at a time, the others after them", () => {
  const heard = new LastHeard();
  for (let n = 0; n < MAX_POKES_DUE + 1; n += 1) heard.note(`run-${n}`, 0);
  const named = heard.silentSince(0);
  expect(named).toHaveLength(MAX_POKES_DUE);
  for (const key of named) heard.note(key, 1);
  expect(heard.silentSince(0)).toEqual([`run-${MAX_POKES_DUE}`]);
});
