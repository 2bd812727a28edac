import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Chance } from "../../sim/rng.ts";

/** `quick` and `slow` end by themselves; `long` ends only with its machine, or when the round is over. */
export type Kind = "quick" | "slow" | "long" | "aborted";

/** One run of a round, with what its command will do. */
export interface Job {
  id: string;
  kind: Kind;
  exitCode: number;
  stdout: string;
  spec: object;
  /** After this long its user aborts it. */
  abortAfterMs: number | null;
}

/** What the user does in a round: more than the machines hold at once, so that some of it waits. */
const MIX: Record<Kind, number> = { quick: 10, slow: 14, long: 2, aborted: 2 };
const SLOW_TENTHS_OF_A_SECOND: [least: number, most: number] = [3, 20];
/** More than is kept in an allocation's one value (`MAX_INLINE_LOG_BYTES`). */
const LOUD_LINES = 12_000;
const ABORT_WITHIN_MS = 3_000;

/**
 * Its effect comes first, and once for each start: a line in a file of its own. Then output, time, and the end.
 */
const SCRIPT = 'echo "$DROVER_ATTEMPT_ID" >>"$1"; seq 1 "$2"; sleep "$3"; exit "$4"';

/** The runs of one round in random order. `effects`: the directory for what they do. */
export function jobsOf(round: number, pool: string, effects: string, chance: Chance): Job[] {
  const kinds = (Object.keys(MIX) as Kind[]).flatMap((kind) => Array<Kind>(MIX[kind]).fill(kind));
  return shuffled(kinds, chance).map((kind, index) => {
    const id = `r${round}-${index}-${kind}`;
    const endsByItself = kind === "quick" || kind === "slow";
    const seconds = {
      quick: 0,
      slow: chance.between(...SLOW_TENTHS_OF_A_SECOND) / 10,
      long: 600,
      aborted: 600,
    }[kind];
    const lines = chance.chance(0.2) ? LOUD_LINES : chance.between(0, 20);
    const exitCode = endsByItself ? chance.between(0, 5) : 0;
    const args = [join(effects, id), lines, seconds, exitCode].map(String);
    return {
      id,
      kind,
      exitCode,
      stdout: Array.from({ length: lines }, (_, line) => `${line + 1}\n`).join(""),
      spec: { id, argv: ["sh", "-c", SCRIPT, "sh", ...args], pool, labels: { round: String(round) } },
      abortAfterMs: kind === "aborted" ? chance.between(0, ABORT_WITHIN_MS) : null,
    };
  });
}

/** The attempts that have begun, by the one thing that cannot lie: what they did. */
export function effectsOf(effects: string, id: string): string[] {
  const file = join(effects, id);
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

/** The same items in random order. */
export function shuffled<T>(items: readonly T[], chance: Chance): T[] {
  const keyed = items.map((item) => ({ item, key: chance.next() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
