// How did a run spend its time? Phases with a beginning and an end, in order (ui.md#d18).
import type { RunStatus } from "../../../src/generated/api.ts";

/** What happens in a phase. Only `running` is the command's own time. */
type PhaseKind = "queued" | "requested" | "booting" | "probed" | "preparing" | "running";

/** A phase. `toMs` is null while it goes on. */
export interface Phase {
  kind: PhaseKind;
  /** Its machine or its attempt; empty: the run. */
  of: string;
  fromMs: number;
  toMs: number | null;
}

type Timed = Pick<RunStatus, "submittedAt" | "finishedAt" | "placements" | "tasks" | "boot">;
type Booted = Pick<
  NonNullable<RunStatus["boot"]>,
  "worker" | "askedAt" | "createdAt" | "joinedAt" | "readyAt"
>;

/** The phases of a run. The boot is that of the machine of its latest placement, if that is still known. */
export function phasesOf(run: Timed): Phase[] {
  const endMs = msOf(run.finishedAt);
  const submittedMs = Date.parse(run.submittedAt);
  const [first] = run.placements;
  const placedMs = msOf(first?.from) ?? endMs;
  const boot = run.boot ? bootOf(run.boot, submittedMs) : [];
  // A machine that was asked for later, when the first one was lost, did not end the wait for that one.
  const queuedUntil = (run.boot?.worker === first?.worker ? boot[0]?.fromMs : undefined) ?? placedMs;
  const queued: Phase = { kind: "queued", of: "", fromMs: submittedMs, toMs: queuedUntil };
  return [queued, ...boot, ...attemptsOf(run, endMs)];
}

/** The boot of a machine that was asked for after the run was there; another one was ready before. */
function bootOf({ worker, askedAt, createdAt, joinedAt, readyAt }: Booted, sinceMs: number): Phase[] {
  if (Date.parse(askedAt) < sinceMs) return [];
  const steps: [PhaseKind, string | null, string | null][] = [
    ["requested", askedAt, createdAt ?? joinedAt ?? readyAt],
    ["booting", createdAt ?? askedAt, joinedAt],
    ["probed", joinedAt, readyAt],
  ];
  return steps.flatMap(([kind, from, to]) => {
    const fromMs = msOf(from);
    return fromMs === null ? [] : [{ kind, of: worker, fromMs, toMs: msOf(to) }];
  });
}

function attemptsOf({ placements, tasks }: Timed, endMs: number | null): Phase[] {
  return tasks.flatMap(({ attempts }) => {
    let freeMs = 0;
    return attempts.flatMap(({ id, startedAt, finishedAt }) => {
      const of = id.slice(id.indexOf("/") + 1);
      const epoch = Number(of.slice(of.indexOf("/") + 1).split(".")[0]);
      const placed = msOf(placements.find((one) => one.epoch === epoch)?.from);
      const startMs = msOf(startedAt);
      const toMs = msOf(finishedAt) ?? endMs;
      const phases: Phase[] = [];
      if (placed !== null) {
        phases.push({ kind: "preparing", of, fromMs: Math.max(placed, freeMs), toMs: startMs ?? toMs });
      }
      if (startMs !== null) phases.push({ kind: "running", of, fromMs: startMs, toMs });
      freeMs = toMs ?? freeMs;
      return phases;
    });
  });
}

function msOf(at: string | null | undefined): number | null {
  return at === null || at === undefined ? null : Date.parse(at);
}
