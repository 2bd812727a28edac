// How are parked runs of a job shown, chosen and redriven (jobs.md#redrive)?
import type { Client } from "../../client/client.ts";
import type { Job, RedrivenList, RunSummary } from "../../client/types.ts";
import { JOB_LABELS } from "../../src/shared/jobs/labels.ts";
import { CliError } from "../errors.ts";
import { listText } from "../list.ts";
import { readRuns, type Selection } from "../run/list-runs.ts";
import { colorsFor, type Io } from "../terminal/io.ts";
import { asJson, counted, printable } from "../terminal/text.ts";

/** As many runs as one request can have. */
const AT_ONCE = 100;
/** How many parked runs a job shows. */
const SHOWN = 20;

/** Which parked runs are meant: some by their ids, or all. */
export type WhichParked = readonly string[] | "all";

/** The parked runs that a command line chooses. Throws a `CliError` unless it chooses them in one way. */
export function chosenParked(name: string, runs: readonly string[], { all }: { all?: boolean }): WhichParked {
  if (runs.length > 0 === (all === true)) {
    throw new CliError("It is not clear which runs to redrive.", [
      `Name them, or take all parked ones: drover jobs redrive ${printable(name)} --all`,
      `To see them: drover jobs show ${printable(name)}`,
    ]);
  }
  return all === true ? "all" : [...new Set(runs)];
}

type Outcome = Pick<RedrivenList, "items" | "failed">;

/**
 * Redrives parked runs, in as many requests as it takes, and says of each what became of it. Resolves with
 * whether all that are meant run again. Whatever breaks off, the same command goes on: what has run again is
 * parked no more.
 */
export async function redriveParked(
  io: Io,
  client: Client,
  name: string,
  which: WhichParked,
  { json }: { json?: boolean },
): Promise<boolean> {
  const { ids, troubles } = which === "all" ? await allParked(client, name) : { ids: which, troubles: [] };
  for (const trouble of troubles) await io.say(trouble);
  const all: Outcome = { items: [], failed: [] };
  try {
    // By their ids: repeated after a lost answer, a request says again what became of the same runs.
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      const { items, failed } = await client.jobs.redrive(name, { runs: ids.slice(at, at + AT_ONCE) });
      all.items.push(...items);
      all.failed.push(...failed);
      if (json !== true)
        await io.stdout.write(items.map(({ run, as }) => `${run} runs again as ${as}\n`).join(""));
      for (const { id, detail } of failed) await io.say(`${printable(id)}: ${printable(detail)}`);
    }
  } finally {
    if (json === true) await io.stdout.write(`${asJson(all)}\n`);
  }
  const isNothing = ids.length === 0 && troubles.length === 0;
  if (isNothing && json !== true) await io.say(`No run of ${printable(name)} is parked.`);
  return all.failed.length === 0 && troubles.length === 0;
}

/** The ids of all parked runs of a job. `troubles`: warnings about pools whose runs may be missing. */
async function allParked(client: Client, name: string): Promise<{ ids: string[]; troubles: string[] }> {
  const { runs, troubles } = await parkedOf(client, await client.jobs.get(name));
  return { ids: runs.map(({ id }) => id), troubles };
}

/** At least `count` parked runs of a job, newest first, or all. */
function parkedOf(client: Client, { name, project }: Job, count?: number): Promise<Selection> {
  const filter = { states: ["all" as const], labels: { [JOB_LABELS.job]: name }, parked: true };
  return readRuns(client, filter, count, {}, project);
}

/** The parked runs of a job as `drover jobs show` has them; empty: there are none. */
export async function parkedText(io: Io, client: Client, job: Job): Promise<string> {
  const { name } = job;
  const { runs, troubles } = await parkedOf(client, job, SHOWN + 1);
  const warnings = troubles.map((text) => `\n${text} Parked runs may be missing.\n`).join("");
  if (runs.length === 0) return warnings;
  const { bold } = colorsFor(io.stdout);
  const shown = runs.slice(0, SHOWN);
  const isCut = shown.length < runs.length;
  const more = isCut ? `There are more: drover ps --parked --label ${JOB_LABELS.job}=${name}\n` : "";
  const redrive = `When the cause is gone: drover jobs redrive ${name} --all, or with their ids\n`;
  const headings = ["RUN", "TICK", "SINCE", "TRIES", "REASON"];
  const title = bold(`${isCut ? "The latest " : ""}${counted(shown.length, "parked run")}`);
  return `${warnings}\n${title}\n${listText(io, headings, shown.map(parkedRow), "")}${more}${redrive}`;
}

function parkedRow({ id, labels, parked }: RunSummary): string[] {
  const { since = "", tries, reason = "" } = parked ?? {};
  return [
    id,
    labels[JOB_LABELS.tick] ?? "triggered",
    since,
    tries === undefined ? "" : String(tries),
    reason,
  ];
}
