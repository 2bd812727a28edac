// Which group id does a placement get, so that its tasks can share files?
import { randomInt } from "node:crypto";

interface Range {
  first: number;
  count: number;
}

/**
 * Group ids that no other program assigns, according to systemd's list of all ids ("Users, Groups, UIDs and
 * GIDs on systemd Systems"). The second range is for containers with 65,536 ids.
 */
const RANGES: readonly Range[] = [
  { first: 1_879_048_192, count: 268_435_456 },
  { first: 60_706, count: 478 },
];

/** Whether a group was picked for a placement. */
export function isPlacementGroup(gid: number): boolean {
  return RANGES.some(({ first, count }) => first <= gid && gid < first + count);
}

/**
 * Picks a random group id for a placement, so that the id of a former placement is not reused soon. `map`:
 * the ids that this process can use, in the form of `/proc/self/gid_map`. Undefined if no id is free.
 */
export function pickGroup(
  map: string,
  usedIds: ReadonlySet<number>,
  random: (below: number) => number = randomInt,
): number | undefined {
  const mapped = map.split("\n").flatMap((line) => rangeOf(line) ?? []);
  const range = RANGES.find((one) => mapped.some((around) => isWithin(one, around)));
  if (range === undefined) return undefined;
  const start = random(range.count);
  for (let step = 0; step <= usedIds.size; step += 1) {
    const gid = range.first + ((start + step) % range.count);
    if (!usedIds.has(gid)) return gid;
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
