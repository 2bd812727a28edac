// How is a run kept when it fails: the flag `--keep`, and what people are told about such a run?

import { Command, InvalidArgumentError, Option } from "commander";
import type { Client } from "../../client/client.ts";
import type { RunStatus } from "../../client/types.ts";
import { money } from "../../src/shared/cloud/money.ts";
import { durationMs, formatDuration } from "../../src/shared/duration.ts";
import { DEFAULT_KEEP_MS, MAX_KEEP_MS } from "../../src/shared/limits.ts";
import { positiveDuration } from "../options.ts";
import { elapsed } from "../terminal/text.ts";

/** For how long a failed run is kept, if nothing says it. */
export const DEFAULT_KEEP = formatDuration(DEFAULT_KEEP_MS);
const LONGEST = formatDuration(MAX_KEEP_MS);
const FLAG = "--keep";

/**
 * Adds `--keep[=<duration>]` to a verb. Its value is given with `=` only: in `--keep build-17` the second
 * word is a run. `passesOn`: the words behind the first argument belong to another command.
 */
export function addKeep(verb: Command, { passesOn = false } = {}): Command {
  const times = `(default: ${DEFAULT_KEEP}, at most ${LONGEST})`;
  const what = `if it fails, keep it on its machine for a look ${times}`;
  const option = new Option(`${FLAG} [duration]`, what).argParser(keepDuration);
  option.flags = `${FLAG}[=<duration>]`;
  verb.addOption(option);
  verb.parseOptions = (argv) => Command.prototype.parseOptions.call(verb, withValues(verb, argv, passesOn));
  return verb;
}

/** The words of a verb, in which each `--keep` has its value. */
function withValues(verb: Command, argv: readonly string[], passesOn: boolean): string[] {
  const words = [...argv];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? "";
    if (word === "--") break;
    if (passesOn && !word.startsWith("-")) break;
    if (word === FLAG) words[at] = `${FLAG}=${DEFAULT_KEEP}`;
    else if (verb.options.find(({ long, short }) => word === long || word === short)?.required === true)
      at += 1;
  }
  return words;
}

function keepDuration(text: string): string {
  if (durationMs(positiveDuration(text)) <= MAX_KEEP_MS) return text;
  throw new InvalidArgumentError(`It must be at most ${LONGEST}.`);
}

/** Until when a run is kept, what that costs and how to end it; empty: it is not kept (tasks.md#kept). */
export function keptText({ id, kept }: RunStatus, now: number): string {
  if (kept === undefined) return "";
  const { until, worker, releasing } = kept;
  if (releasing) return `on worker ${worker}, which is letting it go`;
  const left = elapsed(new Date(now).toISOString(), until);
  return `on worker ${worker} until ${until} (${left})${priceText(kept)}; drover release ${id} ends it`;
}

/** What people are told when a run has failed that is kept. */
export function keptLines(run: RunStatus, now: number): string[] {
  const { id, kept } = run;
  if (kept === undefined) return [];
  const left = elapsed(new Date(now).toISOString(), kept.until);
  return [
    `Run ${id} is kept on its machine for ${left}${priceText(kept)}.`,
    `Look inside: drover exec -it ${id} -- sh, or copy: drover cp ${id}:<path> .`,
    `When you are done: drover release ${id}`,
  ];
}

/** The price; nothing where it is zero or unknown. */
function priceText({ perHour, cost }: NonNullable<RunStatus["kept"]>): string {
  if (!perHour || cost === null) return "";
  return `, for ${money(perHour)} an hour, ${money(cost)} until then`;
}

/** How long the host of a run may take to confirm that nothing is left. */
const CONFIRM_MS = 30_000;

/** Asks to release a run, and says how that went. Throws if the control plane refuses it. */
export async function releaseRun(
  { runs }: Client,
  run: Pick<RunStatus, "id" | "kept">,
): Promise<{ isOver: boolean; text: string }> {
  const { kept } = await runs.release(run.id, { waitMs: CONFIRM_MS });
  if (kept === undefined) {
    return { isOver: true, text: run.kept === undefined ? "was not kept" : "is released" };
  }
  const { worker } = kept;
  const text = `is not released yet: worker ${worker} has not confirmed it, and lets it go when it can`;
  return { isOver: false, text };
}
