import { existsSync, statSync } from "node:fs";
import type { Instant } from "../../src/core/machine.ts";
import { foundFake } from "../core/fake.ts";
import type { AttemptJournal, FoundAttempt } from "../core/journal.ts";
import type { Journal } from "../journal.ts";
import type { AttemptStore } from "./dirs.ts";
import { readEnd } from "./end.ts";
import { readFake } from "./fake.ts";
import type { Groups } from "./groups.ts";
import { lives, type Proc } from "./processes.ts";
import { readShim } from "./shim.ts";

/** An attempt of an earlier start of the agent, and the shim that it had, if that is known for certain. */
export interface Found {
  attempt: FoundAttempt;
  shim: Proc | undefined;
}

/** Where an earlier start has left its traces. */
export interface Traces {
  store: AttemptStore;
  journal: Journal;
  groups: Groups;
  shellTells: boolean;
}

/**
 * Looks at what an earlier start has left of an attempt. Without a journal of this boot nothing that was
 * written down is believed, because a pid and a start time name a process within one boot only. Undefined if
 * the agent died before the command began: the orders, which come again, may then start it.
 */
export function findAttempt(
  id: string,
  { store, journal, groups, shellTells }: Traces,
  now: Instant,
): Found | undefined {
  const kept = journal.read(id);
  if (kept === undefined) return { attempt: { id, main: { kind: "lost" } }, shim: undefined };
  if (kept === "other boot") return { attempt: { id, main: { kind: "rebooted" } }, shim: undefined };
  const dirs = store.dirsOf(id);
  const fake = readFake(dirs.root);
  if (fake !== undefined)
    return { attempt: { id, journal: kept, main: foundFake(fake, now) }, shim: undefined };
  if (isUntouched(kept) && existsSync(dirs.root) && store.retract(id)) return undefined;
  const shim = readShim(dirs);
  if (shim !== undefined && lives(shim)) {
    return { attempt: { id, journal: kept, main: { kind: "running" } }, shim };
  }
  // Only now: a shim that ended in between has written its status by the time that it is gone.
  const end = readEnd(dirs, groups.of(id), shellTells);
  if ("lost" in end) return { attempt: { id, journal: kept, main: { kind: "lost" } }, shim };
  const agoMs = Math.max(0, Date.now() - statSync(dirs.exit).mtimeMs);
  const at = Math.max(kept.startedAt ?? 0, Math.round(now - agoMs));
  return { attempt: { id, journal: kept, main: { kind: "ended", at, ...end } }, shim };
}

/** The agent knew of no start, no end and no stop of it. */
function isUntouched({ startedAt, endedAt, startError, stop }: AttemptJournal): boolean {
  return [startedAt, endedAt, startError, stop].every((word) => word === undefined);
}
