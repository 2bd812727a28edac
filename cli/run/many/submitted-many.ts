// How does `drover run` submit many runs at once, and stay with them until the last has ended?
import type { Client } from "../../../client/client.ts";
import { ApiError, UnreachableError } from "../../../client/errors.ts";
import { MAX_BATCH_RUNS } from "../../../src/shared/limits.ts";
import { CliError } from "../../errors.ts";
import { listenForInterrupts } from "../../terminal/interrupts.ts";
import type { Io } from "../../terminal/io.ts";
import { asJson, counted, printable } from "../../terminal/text.ts";
import { type Attending, submitPatiently } from "../attended.ts";
import { PATIENCE } from "../patience.ts";
import type { NamedSpec } from "../spec.ts";
import { submitArray } from "./array-batches.ts";
import { endsOf, showEnds } from "./ends.ts";

/** More ids than this make no line that somebody would copy. */
const MOST_NAMED = 8;

/**
 * Submits runs, a list in one request and an array in as many as it takes, and waits for all of them unless
 * they are to be left. Resolves with one exit code. The first interrupt aborts all runs, and the second stops
 * waiting; Ctrl-\ leaves them.
 */
export async function submittedMany(
  io: Io,
  client: Client,
  runs: readonly NamedSpec[],
  how: Attending,
): Promise<number> {
  const ids = runs.map(({ id }) => id);
  const enough = new AbortController();
  const submitting = { io, quiet: how.quiet, enough: enough.signal };
  if (how.detach === true) {
    const made = await submit(client, runs, how, submitting);
    await io.stdout.write(how.json ? `${asJson(made)}\n` : made.map(({ id }) => `${id}\n`).join(""));
    if (how.quiet !== true) await io.say(`${counted(ids.length, "run")} submitted. ${waitAgain(runs)}`);
    return 0;
  }
  const interrupts = listenForInterrupts();
  const leaving = new AbortController();
  const accepted = submit(client, runs, how, submitting, leaving.signal);
  let abortedAs: number | undefined;
  const interrupted = interrupts.first.then(async ({ signal, exitCode }) => {
    abortedAs = exitCode;
    enough.abort(); // of an array that takes several requests, nothing more is submitted
    await io.say("Aborting all runs and waiting for them to end. Press Ctrl-C again to stop waiting.");
    const stored = (await accepted).map(({ id }) => id);
    const reason = `${signal} to drover run`;
    for (let at = 0; at < stored.length; at += MAX_BATCH_RUNS) {
      const some = { ids: stored.slice(at, at + MAX_BATCH_RUNS), reason };
      await client.runs.abortMany(some, { signal: leaving.signal, patience: PATIENCE });
    }
  });
  const left = Promise.race([interrupts.second, interrupts.detach.then((it) => accepted.then(() => it))]);
  const toTheEnd = async () => {
    const stored = (await accepted).map(({ id }) => id);
    const ended = await endsOf(
      io,
      client,
      { ids: stored },
      { quiet: how.quiet, signal: leaving.signal },
    ).catch((error) => {
      throw outOfSight(error, runs);
    });
    const exitCode = await showEnds(io, client, ended ?? [], { json: how.json });
    return abortedAs ?? exitCode;
  };
  try {
    return await Promise.race([
      toTheEnd(),
      interrupted.then(() => new Promise<never>(() => {})),
      left.then(async ({ exitCode }) => {
        await io.say(`The runs that have not ended may go on. ${waitAgain(runs)}`);
        return exitCode;
      }),
    ]);
  } finally {
    leaving.abort();
  }
}

function submit(
  client: Client,
  runs: readonly NamedSpec[],
  how: Attending,
  submitting: Parameters<typeof submitArray>[3],
  signal?: AbortSignal,
) {
  const isArray = runs.every(({ array }) => array !== undefined && array.id === runs[0]?.array?.id);
  const made = isArray
    ? submitArray(client, runs, { signal }, submitting)
    : submitPatiently((options) => client.runs.submitBatch(runs, { signal, ...options }));
  return made.catch((error) => {
    throw refused(error, runs, how);
  });
}

/** The error of a submission that failed as a whole, in words. */
function refused(error: unknown, runs: readonly NamedSpec[], how: Attending): unknown {
  if (error instanceof ApiError && error.code === "run_exists")
    return new CliError(printable(error.detail), [
      "Choose other ids, or look at those runs: drover ps --all",
    ]);
  if (error instanceof UnreachableError && !error.neverSent) {
    return new CliError(`Drover at ${error.url} does not answer: ${error.reason}.`, [
      "It may have received the runs, so the same command line with other ids would make others.",
      waitAgain(runs),
    ]);
  }
  return how.refusal(error);
}

/** Explains a failure after the runs were accepted: the user must know that they may go on. */
function outOfSight(error: unknown, runs: readonly NamedSpec[]): unknown {
  if (error instanceof ApiError && error.code === "expired_run" && error.runs.length > 0) {
    const left = runs.filter(({ id }) => !error.runs.includes(id));
    const names = error.runs.slice(0, MOST_NAMED).join(", ");
    const more = error.runs.length > MOST_NAMED ? ` and ${error.runs.length - MOST_NAMED} more` : "";
    const text = `Lost sight of the runs, which may go on: some of them have been deleted: ${names}${more}.`;
    return new CliError(text, left.length === 0 ? [] : [waitAgain(left)]);
  }
  if (!(error instanceof UnreachableError)) return error;
  return new CliError(`Lost sight of the runs, which may go on: ${error.message}.`, [waitAgain(runs)]);
}

/** How to come back to these runs. */
function waitAgain(runs: readonly NamedSpec[]): string {
  const array = runs[0]?.array?.id;
  if (array !== undefined) return `To wait for them: drover wait --array ${array}`;
  return runs.length > MOST_NAMED
    ? "To see them: drover ps"
    : `To wait for them: drover wait ${runs.map(({ id }) => id).join(" ")}`;
}
