import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Chance } from "../../sim/rng.ts";

/** `quick` and `slow` end by themselves; `aborted` ends only with its machine, or by its user. */
export type Kind = "quick" | "slow" | "aborted";

/** One run of a batch, with what its command will do. */
export interface Job {
  id: string;
  kind: Kind;
  exitCode: number;
  stdout: string;
  spec: object;
  /** How long after its submission the user aborts it. */
  abortAfterMs: number | null;
}

const ABORTED_SHARE = 0.08;
const QUICK_SHARE = 0.3;
const SLOW_TENTHS_OF_A_SECOND: [least: number, most: number] = [3, 20];
/** More than is kept in an allocation's one value (`MAX_INLINE_LOG_BYTES`). */
const LOUD_LINES = 12_000;
const LOUD_SHARE = 0.1;
const ABORT_WITHIN_MS = 3_000;

/**
 * The effect comes first, and once for each start: a line in a file of the run. Then come output, time, and
 * the end.
 */
const SCRIPT = 'echo "$DROVER_ATTEMPT_ID" >>"$1"; seq 1 "$2"; sleep "$3"; exit "$4"';

/** Where the runs of a batch go, and what they are called. */
export interface JobsOf {
  batch: string;
  pool: string;
  /** The directory for the effects of runs. */
  effects: string;
}

/** The next run of a batch. */
export function nextJob({ batch, pool, effects }: JobsOf, number: number, chance: Chance): Job {
  const kind = kindOf(chance);
  const id = `${batch}-${number}-${kind}`;
  const slow = chance.between(...SLOW_TENTHS_OF_A_SECOND) / 10;
  const seconds = { quick: 0, slow, aborted: 600 }[kind];
  const lines = chance.chance(LOUD_SHARE) ? LOUD_LINES : chance.between(0, 20);
  const exitCode = kind === "aborted" ? 0 : chance.between(0, 5);
  const args = [join(effects, id), lines, seconds, exitCode].map(String);
  return {
    id,
    kind,
    exitCode,
    stdout: Array.from({ length: lines }, (_, line) => `${line + 1}\n`).join(""),
    spec: { id, argv: ["sh", "-c", SCRIPT, "sh", ...args], pool, labels: { batch } },
    abortAfterMs: kind === "aborted" ? chance.between(0, ABORT_WITHIN_MS) : null,
  };
}

function kindOf(chance: Chance): Kind {
  if (chance.chance(ABORTED_SHARE)) return "aborted";
  return chance.chance(QUICK_SHARE) ? "quick" : "slow";
}

/** The attempts that have begun, by the one thing that cannot lie: their effects. */
export function effectsOf(effects: string, id: string): string[] {
  const file = join(effects, id);
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}
