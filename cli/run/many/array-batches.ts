// How are the runs of an array submitted, which may be more than one request can have (api.md#arrays)?
import type { Client } from "../../../client/client.ts";
import { ApiError, UnreachableError } from "../../../client/errors.ts";
import { batchesOf } from "../../../client/runs/batches.ts";
import type { CallOptions } from "../../../client/transport/http.ts";
import type { RunStatus, RunSummary } from "../../../client/types.ts";
import { CliError } from "../../errors.ts";
import type { Io } from "../../terminal/io.ts";
import { counted, printable } from "../../terminal/text.ts";
import { submitPatiently } from "../attended.ts";
import type { NamedSpec } from "../spec.ts";

/** What is said while a submission takes several requests. */
interface Submitting {
  io: Io;
  quiet: boolean | undefined;
  /** Nothing more is submitted once this is aborted. */
  enough: AbortSignal;
}

/**
 * Submits runs of one array, batch after batch, and resolves with those that are stored: all, unless nobody
 * wants more. Each run has its id from the start, so whatever breaks off, the same command line finds what is
 * there and submits the rest: none is doubled, and none is lost without a word.
 */
export async function submitArray(
  client: Client,
  runs: readonly NamedSpec[],
  options: CallOptions,
  { io, quiet, enough }: Submitting,
): Promise<RunStatus[]> {
  const batches = batchesOf(runs);
  const [first] = runs;
  if (batches.length > 1 && quiet !== true && first !== undefined)
    await io.say(
      `Submits ${runs.length} runs in ${batches.length} requests. If that breaks off: the same command ` +
        `with --id ${printable(arrayOf(first))} submits the rest.`,
    );
  const stored: RunStatus[] = [];
  for (const batch of batches) {
    if (enough.aborted) break;
    try {
      stored.push(
        ...(await submitPatiently((more) => client.runs.submitBatch(batch, { ...options, ...more }))),
      );
    } catch (error) {
      throw batches.length === 1 || stored.length === 0 ? error : brokenOff(error, runs, stored.length);
    }
  }
  return stored;
}

/** The id of the array, with its project: that with which its runs are submitted again. */
function arrayOf({ id, array }: NamedSpec): string {
  return array === undefined ? id : id.slice(0, id.lastIndexOf("-"));
}

/** Says how much of an array is there, and how to go on. */
function brokenOff(error: unknown, runs: readonly NamedSpec[], stored: number): unknown {
  if (!(error instanceof ApiError || error instanceof UnreachableError)) return error;
  const [first] = runs;
  const id = first === undefined ? "" : printable(arrayOf(first));
  const isKnown = !(error instanceof UnreachableError) || error.neverSent;
  const some = `${isKnown ? "Only" : "At least"} ${stored}`;
  return new CliError(`${some} of ${runs.length} runs are stored: ${printable(error.message)}`, [
    `Those that are stored go on. The same command with --id ${id} submits the rest.`,
    `To end them instead: drover abort --array ${printable(first?.array?.id ?? id)}`,
  ]);
}

/**
 * What is to be said of an array of which not all runs are there: they were never submitted, or have been
 * deleted. Undefined: all are there.
 */
export function missingText(array: string, runs: readonly RunSummary[]): string | undefined {
  const size = Math.max(0, ...runs.map((run) => run.array?.size ?? 0));
  const there = new Set(runs.map((run) => run.array?.index)).size;
  if (there >= size) return undefined;
  const found = `${there} of them ${there === 1 ? "is" : "are"} there`;
  return (
    `The array ${printable(array)} is to have ${counted(size, "run")}, and ${found}: the ` +
    "others were not submitted, or are deleted. The command that has submitted it submits the rest."
  );
}
