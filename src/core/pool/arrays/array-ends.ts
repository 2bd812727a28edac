// What follows from the ends of an array's runs, for those that await it and for the rest of it?
import type { RunArray } from "../../../schema/run/array.ts";
import type { AfterOn } from "../../../shared/after/entries.ts";
import { isTerminal } from "../../../shared/run-state.ts";
import type { ArrayEnded, EndRun, Unmet } from "../../messages.ts";
import type { RunRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";
import { namesOf, type ReadonlyArrays } from "./array-index.ts";
import type { Member, ReadonlyMembers } from "./members.ts";

/** How many of the runs that have failed are named. */
const MOST_NAMED = 3;

/**
 * Whether an array has ended as somebody awaits it (pool.md#array-ends). Undefined: that is not known yet.
 * A run that is missing has been deleted, which only happens to runs that have ended.
 */
export function verdictOn(members: ReadonlyMembers, on: AfterOn): { unmet?: Unmet } | undefined {
  const { counts, missing } = members;
  const bad = counts.failed + counts.stopped;
  if (on === "success") {
    if (bad > 0) return { unmet: badEndOf(members) };
    if (missing > 0 || members.size === 0) return { unmet: GONE };
    return counts.live > 0 ? undefined : {};
  }
  if (counts.live > 0) return undefined;
  if (on === "any" || bad > 0) return {};
  return { unmet: missing > 0 || members.size === 0 ? GONE : { text: "ended well" } };
}

const GONE: Unmet = { text: "has lost runs that were deleted before this run knew how they had ended" };

/** Names the first run that failed or, if none did, the first that was aborted. */
function badEndOf(members: ReadonlyMembers): Unmet {
  const [first] = [...members.of("failed"), ...members.of("stopped")];
  if (first === undefined) return GONE;
  const { run, firstCause } = first.row;
  if (firstCause !== undefined) return { text: `has run ${run}, which did not start`, cause: firstCause };
  return { text: "has not ended well", cause: { run, text: endText(first) } };
}

function endText({ row: { state, exitCode, failure } }: Member): string {
  switch (state) {
    case "complete":
      return `ended with exit code ${exitCode}`;
    case "aborted":
      return "was aborted";
    case "timedout":
      return "took longer than its timeout";
    default:
      return `${state === "unknown" ? "was lost" : "failed"}${failure === undefined ? "" : ` (${failure})`}`;
  }
}

/** What the pool owes to runs whose arrays have ended: that, until their rows say that they know it. */
export function arrayNews({ memo }: ReadonlyConfigured): readonly ArrayEnded[] {
  return memo.index.arrays.derive(endedFor);
}

function endedFor(arrays: ReadonlyArrays): ArrayEnded[] {
  const told = new Map<string, ArrayEnded>(); // one word at a time for each run
  const verdict = verdicts();
  for (const [group, rows] of arrays.followed) {
    const { array } = namesOf(group);
    for (const [key, row] of rows) {
      const { run, submittedAt, awaitsArrays = [] } = row;
      for (const { on } of awaitsArrays.filter((one) => one.array === array)) {
        const found = verdict(arrays.membersFor(row, array), on);
        if (found !== undefined) told.set(key, { run, submittedAt, array, on, ...found });
      }
    }
  }
  return [...told.values()];
}

/** `verdictOn`, found once for all runs that see the same of an array, as most that await it do. */
function verdicts(): typeof verdictOn {
  const known = new Map<ReadonlyMembers, Map<AfterOn, ReturnType<typeof verdictOn>>>();
  return (members, on) => {
    const found = known.get(members) ?? new Map<AfterOn, ReturnType<typeof verdictOn>>();
    known.set(members, found);
    if (!found.has(on)) found.set(on, verdictOn(members, on));
    return found.get(on);
  };
}

/** How many runs of an array must have failed before the rest of it is ended. */
export function failLimit({ failAt, size }: Pick<RunArray, "failAt" | "size">): number | undefined {
  if (typeof failAt !== "string") return failAt;
  return Math.ceil((size * Number.parseInt(failAt, 10)) / 100);
}

/** Why a run is to end with its array (pool.md#fail-at). Undefined: it may go on. */
export function endsWithArray(arrays: ReadonlyArrays, { project, array }: RunRow): string | undefined {
  if (array?.failAt === undefined) return undefined;
  return whyItEnds(arrays.membersOf(project, array.id), array);
}

function whyItEnds(members: ReadonlyMembers, array: RunArray): string | undefined {
  const { failed } = members.counts;
  if (failed < (failLimit(array) ?? Number.POSITIVE_INFINITY)) return undefined;
  const names = members.of("failed").map(({ row }) => row.run);
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  return (
    `${failed} of the ${array.size} runs of its array, "${array.id}", ` +
    `${failed === 1 ? "has" : "have"} failed, and its \`failAt\` is ${array.failAt}: ` +
    `${names.slice(0, MOST_NAMED).join(", ")}${more}`
  );
}

/** The runs that are to end with their arrays, and whose allocations have not confirmed that yet. */
export function arraysToEnd({ memo, record }: ReadonlyConfigured): readonly EndRun[] {
  return record.forced === undefined ? memo.index.arrays.derive(endedWith) : []; // else all end at once
}

function endedWith(arrays: ReadonlyArrays): EndRun[] {
  const owed: EndRun[] = [];
  for (const [group, rows] of arrays.limited) {
    const { project, array } = namesOf(group);
    const members = arrays.membersOf(project, array);
    if (members.counts.failed === 0) continue;
    // Of 10,000 runs with the same limit the reason is found once.
    const reasons = new Map<string, string | undefined>();
    for (const row of rows.values()) {
      const { run, submittedAt, state, replacedBy } = row;
      if (isTerminal(state) || row.endsWithArray === true || replacedBy !== undefined) continue;
      const { failAt, size } = row.array ?? {};
      const limit = `${failAt} of ${size}`;
      if (row.array !== undefined && !reasons.has(limit)) reasons.set(limit, whyItEnds(members, row.array));
      const reason = reasons.get(limit);
      if (reason !== undefined) owed.push({ run, submittedAt, reason, by: "drover", graceful: true });
    }
  }
  return owed;
}
