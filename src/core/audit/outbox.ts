// Which entries of the audit log does an object owe its pool (audit.md#outbox)?
import { projectOfRun } from "../../shared/access/project.ts";
import type { Instant } from "../../shared/machine.ts";
import type { NewEntry, OwedEntry } from "./entry.ts";
import { countText, reasonField } from "./entry.ts";

/**
 * The most entries that wait for a pool. If more come, one is dropped, and its number is missing: the oldest
 * of those that a host can cause as often as it likes, so that it pushes out no others; else the oldest.
 */
export const MAX_OWED = 200;

/** The entries that a pool has not confirmed. `last`: the number of the latest entry ever. */
export interface Outbox {
  last: number;
  owed: OwedEntry[];
}

/** The outbox with another entry. */
export function withEntry(outbox: Outbox | undefined, { reason, ...entry }: Omit<OwedEntry, "n">): Outbox {
  const n = (outbox?.last ?? 0) + 1;
  const owed = [...(outbox?.owed ?? []), { n, ...entry, ...reasonField(reason) }];
  if (owed.length > MAX_OWED) {
    const dropped = owed.findIndex(({ action }) => action === "secret.hand");
    owed.splice(Math.max(0, dropped), 1);
  }
  return { last: n, owed };
}

/** The outbox without the entries that were sent and confirmed. The same outbox if there are none. */
export function confirmed(outbox: Outbox | undefined, sent: readonly OwedEntry[] = []): Outbox | undefined {
  const upTo = sent.at(-1)?.n ?? 0;
  if (outbox === undefined || (outbox.owed[0]?.n ?? Infinity) > upTo) return outbox;
  return { ...outbox, owed: outbox.owed.filter(({ n }) => n > upTo) };
}

/** The field of a message with which the owed entries travel. Absent: there are none. */
export function owedField(outbox: Outbox | undefined): { audit?: OwedEntry[] } {
  return outbox === undefined || outbox.owed.length === 0 ? {} : { audit: outbox.owed };
}

/**
 * The entries of a message that its receiver does not have yet, complete with what they are about. `upTo`:
 * the number of the latest entry that the receiver has from this sender. If numbers are missing, an entry
 * before them says how many.
 */
export function newEntries(
  sent: readonly OwedEntry[] = [],
  upTo = 0,
  about: Pick<NewEntry, "target" | "pool" | "run" | "project">,
): { entries: NewEntry[]; upTo: number } {
  const fresh = sent.filter(({ n }) => n > upTo);
  const entries = fresh.map(({ n: _n, about: run, ...entry }): NewEntry => {
    const concerned =
      run === undefined
        ? about
        : { ...about, target: { kind: "run" as const, id: run }, run, project: projectOfRun(run) };
    return { ...entry, ...concerned, result: "ok" };
  });
  const last = fresh.at(-1)?.n ?? upTo;
  const missing = last - upTo - fresh.length;
  const [first] = fresh;
  if (first !== undefined && missing > 0) entries.unshift(gapOf(about, missing, first.at));
  return { entries, upTo: last };
}

function gapOf(
  { target, ...about }: Parameters<typeof newEntries>[2],
  missing: number,
  at: Instant,
): NewEntry {
  const reason = `${countText(missing)} dropped by ${target.kind} ${target.id}, where too many waited`;
  const log = { kind: "log", id: about.pool ?? "registry" } as const;
  return { at, by: "drover", action: "log.gap", target: log, ...about, result: "ok", reason };
}
