// How does a command stay with the run that it submits, until the run ends or the user leaves it?
import type { Client } from "../../client/client.ts";
import { shownTask } from "../../client/easy.ts";
import { UnreachableError } from "../../client/errors.ts";
import type { CallOptions } from "../../client/transport/http.ts";
import type { RunStatus } from "../../client/types.ts";
import type { Context } from "../context.ts";
import { CliError, EXIT } from "../errors.ts";
import { sayMissing } from "../missing-output.ts";
import { type Interrupt, listenForInterrupts } from "../terminal/interrupts.ts";
import type { Io } from "../terminal/io.ts";
import { adviceLine } from "../terminal/peaks.ts";
import { noProgress, watchProgress } from "../terminal/progress.ts";
import { asJson } from "../terminal/text.ts";
import { verdictOf } from "../verdict.ts";
import { type AbortState, type Attendance, attend } from "./attend.ts";
import { keptLines } from "./keep.ts";
import { showHealthy } from "./many/healthy.ts";
import { type Answer, decideBy } from "./on-interrupt.ts";
import { PATIENCE } from "./patience.ts";
import { type NamedSpec, taskNames } from "./spec.ts";

/** What becomes of a submission. `refusal` puts the error of one that was refused into words. */
export interface Attending {
  /** Print the id of the run, and leave it. With `healthy`: once all its checks pass. */
  detach?: boolean | undefined;
  healthy?: boolean | undefined;
  quiet?: boolean | undefined;
  json?: boolean | undefined;
  /** What an interrupt means. Absent: the person at the terminal is asked; elsewhere the run is aborted. */
  onInterrupt?: Answer | undefined;
  refusal: (error: unknown) => unknown;
}

/** Submits the run, and stays with it unless it is to be left. Resolves with the exit code. */
export async function submitted(
  io: Io,
  client: Client,
  context: Context,
  spec: NamedSpec,
  how: Attending,
): Promise<number> {
  if (how.detach !== true) return attended(io, client, context, spec, how);
  const { run } = await client.runs.submit(spec).catch((error) => {
    throw how.refusal(error);
  });
  if (how.healthy !== true || !how.json) await io.stdout.write(how.json ? `${asJson(run)}\n` : `${run.id}\n`);
  return how.healthy ? showHealthy(io, client, [run.id], { quiet: how.quiet, json: how.json }) : 0;
}

/** Submits the run and stays with it. Resolves with the exit code of the command. */
async function attended(
  io: Io,
  client: Client,
  context: Context,
  spec: NamedSpec,
  how: Attending,
): Promise<number> {
  return stayWith(io, client, context, spec, how, (signal) =>
    submitPatiently((more) => client.runs.submit(spec, { signal, ...more })).catch((error) => {
      throw how.refusal(error);
    }),
  );
}

/**
 * Comes back to a run, and stays with it as the command that has submitted it did. Where nobody can be asked,
 * an interrupt leaves the run alone: others may stay with it, too.
 */
export async function attached(
  io: Io,
  client: Client,
  context: Context,
  spec: NamedSpec,
  how: Omit<Attending, "refusal" | "detach">,
): Promise<number> {
  return stayWith(io, client, context, spec, { ...how, otherwise: "detach" }, async () => undefined);
}

/** How to stay with a run. `otherwise`: what an interrupt means where nobody can be asked. */
export type Staying = Omit<Attending, "refusal" | "detach"> & { otherwise?: Answer };

/**
 * Stays with a run until it ends or the user leaves it. `accept` resolves when the run has been accepted.
 * Resolves with the exit code of the command.
 */
export async function stayWith(
  io: Io,
  client: Client,
  context: Context,
  spec: NamedSpec,
  how: Staying,
  accept: (leave: AbortSignal) => Promise<unknown>,
): Promise<number> {
  const leaving = new AbortController();
  const leave = leaving.signal;
  const progress = how.quiet === true ? noProgress(io) : watchProgress(io, client, spec.id);
  const answers = { answer: how.onInterrupt, otherwise: how.otherwise ?? "abort" };
  const interrupts = listenForInterrupts(decideBy(io, spec.id, answers, () => progress.stop()));
  const accepted = accept(leave);
  const abortState: AbortState = { isRequested: false, isConfirmed: false };
  const leftAs = async ({ exitCode }: Interrupt) => {
    await progress.stop();
    await io.say(wordsOfLeaving(spec.id, context, abortState));
    return exitCode;
  };
  // Ctrl-\ leaves the run as soon as the run is accepted. A second Ctrl-C leaves it at once.
  const detached = interrupts.detach.then((how) => accepted.then(() => leftAs(how)));
  const hurried = interrupts.second.then(leftAs);
  try {
    const isQuiet = how.quiet === true;
    const attendance = {
      io,
      client,
      run: spec.id,
      isQuiet,
      interrupts,
      leave,
      progress,
      accepted,
      abortState,
    };
    return await Promise.race([toTheEnd(attendance, spec, how), hurried, detached]);
  } finally {
    // The signals stay caught: another Ctrl-C must not change the exit code.
    leaving.abort();
  }
}

async function toTheEnd(
  attendance: Omit<Attendance, "task" | "group" | "sinks">,
  spec: NamedSpec,
  how: Staying,
): Promise<number> {
  const { io, client, run, accepted, isQuiet } = attendance;
  let isAccepted = false;
  const noted = accepted.then(() => {
    isAccepted = true;
  });
  const shown = { task: shownTask(spec), group: taskNames(spec) };
  const sinks = { stdout: how.json ? io.stderr : io.stdout, stderr: io.stderr };
  const { status, abortedAs } = await attend({ ...attendance, ...shown, accepted: noted, sinks }).catch(
    (error) => {
      throw isAccepted ? outOfSight(error, run) : error;
    },
  );
  await sayMissing(io, status, shown.task, ["stdout", "stderr"]);
  const verdict = verdictOf(status, abortedAs);
  // What the exit code says already is not said. That Drover has failed is an error, and errors are said.
  const isSaid = !isQuiet || verdict.exitCode === EXIT.drover;
  if (verdict.message !== undefined && isSaid) await io.say(verdict.message);
  const result = resultLine(status);
  if (result !== undefined && !isQuiet) await io.say(result);
  const advice = adviceLine(status);
  const lines = [...(advice === undefined ? [] : [advice]), ...keptLines(status, client.now())];
  if (!isQuiet) for (const line of lines) await io.say(line);
  if (how.json) await io.stdout.write(`${asJson(status)}\n`);
  return verdict.exitCode;
}

/**
 * Submits what this command waits for. If nothing listens, the submission fails soon. If Drover may have
 * received it but has not answered, the same submission is repeated for `PATIENCE`.
 */
export async function submitPatiently<Made>(
  submit: (options: Pick<CallOptions, "patience">) => Promise<Made>,
): Promise<Made> {
  try {
    return await submit({});
  } catch (error) {
    if (!(error instanceof UnreachableError) || error.neverSent) throw error;
  }
  return await submit({ patience: PATIENCE });
}

/** Explains a failure after the run was accepted: the user must know that the run may go on. */
function outOfSight(error: unknown, run: string): unknown {
  if (!(error instanceof UnreachableError)) return error;
  return new CliError(`Lost sight of run ${run}, which may go on: ${error.message}.`, [
    `Look for it later: drover status ${run}, or drover logs -f ${run}`,
  ]);
}

/** How to fetch the run's result; undefined if the run has no result. */
function resultLine({ id, snapshot, tasks }: RunStatus): string | undefined {
  if (!snapshot) return undefined;
  const stored = tasks.flatMap(({ events }) => events).findLast(({ type }) => type === "Outputs Stored");
  const files = stored?.details.files;
  if (files === "0") return `The result of run ${id} is empty: no file matches --out.`;
  const count = files === undefined ? "a result" : `a result of ${files} ${files === "1" ? "file" : "files"}`;
  return `Run ${id} has ${count}. Fetch it: drover pull ${id}`;
}

/** What users must know when they leave a run before its end. */
function wordsOfLeaving(run: string, context: Context, { isRequested, isConfirmed }: AbortState): string {
  if (isConfirmed) return `Run ${run} is being aborted. To see its end: drover status ${run}`;
  if (isRequested) {
    return `Drover has not confirmed the abort of run ${run}, so it may go on: drover abort ${run}`;
  }
  const where = context.file === undefined ? "" : " for as long as `drover up` runs";
  return `Detached. Run ${run} goes on${where}: drover attach ${run}, drover abort ${run}`;
}
