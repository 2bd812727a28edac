// Which group id does a placement get, so that its tasks can share files?
import { randomInt } from "node:crypto";

/** Group ids, from the first one on. */
interface Range {
  first: number;
  count: number;
}

/**
 * Ids that nobody else gives away, by the list that systemd keeps of all of them (Users, Groups, UIDs and
 * GIDs on systemd Systems). The second one is for containers that have 65,536 of them.
 */
const RANGES: readonly Range[] = [
  { first: 1_879_048_192, count: 268_435_456 },
  { first: 60_706, count: 478 },
];

/** Whether a group is one that was picked for a placement. */
export function isPlacementGroup(gid: number): boolean {
  return RANGES.some(({ first, count }) => first <= gid && gid < first + count);
}

/**
 * Picks a group for a placement, at random: so one that has been is not picked again soon. `map`: the ids
 * that this process can use, as `/proc/self/gid_map` says. Undefined if it can use none that is free.
 */
export function pickGroup(
  map: string,
  taken: ReadonlySet<number>,
  random: (below: number) => number = randomInt,
): number | undefined {
  const mapped = map.split("\n").flatMap((line) => rangeOf(line) ?? []);
  const range = RANGES.find((one) => mapped.some((around) => isWithin(one, around)));
  if (range === undefined) return undefined;
  const start = random(range.count);
  for (let step = 0; step <= taken.size; step += 1) {
    const gid = range.first + ((start + step) % range.count);
    if (!taken.has(gid)) return gid;
  }
  return undefined;
}

function rangeOf(line: string): Range | undefined {
  const [, first, count] = /^\s*(\d+)\s+\d+\s+(\d+)\s*$/.exec(line) ?? [];
  return first === undefined ? undefined : { first: Number(first), count: Number(count) };
}

function isWithin(inner: Range, outer: Range): boolean {
  return outer.first <= inner.first && inner.first + inner.count <= outer.first + outer.count;
}
