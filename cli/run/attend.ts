// How `drover run` stays with a run: copies its output and waits for its end. `verbs/run.ts` calls it.
import type { Client } from "../../client/client.ts";
import type { RunStatus } from "../../client/types.ts";
import type { Interrupts } from "../terminal/interrupts.ts";
import type { Io } from "../terminal/io.ts";
import type { Progress } from "../terminal/progress.ts";
import { OutputClosed, type Sink } from "../terminal/sink.ts";
import { linesOf } from "./lines.ts";
import { OUT_OF_SIGHT_MS, PATIENCE } from "./patience.ts";
import { type AttemptStream, printStory, type StoryPrinter } from "./story.ts";

const STREAMS = ["stdout", "stderr"] as const;

/** How far the abort of a run has come. Until Drover answers, it is unknown whether the request arrived. */
export interface AbortState {
  isRequested: boolean;
  isConfirmed: boolean;
}

/** How an attended run ended. */
export interface Attended {
  status: RunStatus;
  /** Set if this command aborted the run: the exit code to end with. */
  abortedAs?: number;
}

export interface Attendance {
  io: Io;
  client: Client;
  run: string;
  /** The task whose output is copied. */
  task: string;
  /**
   * The names of a group's tasks. Their events and output go to stderr, each line with the task's name.
   * Absent for a lone command, whose events are not shown.
   */
  group?: readonly string[] | undefined;
  /** Resolves when the run has been accepted. */
  accepted: Promise<unknown>;
  /** Nothing but the run's output is shown (cli.md#quiet). */
  isQuiet: boolean;
  /** Where the command's output goes. */
  sinks: { stdout: Sink; stderr: Sink };
  interrupts: Interrupts;
  /** Shows what the run waits for, until there is output. */
  progress: Progress;
  /** `attend` updates this; the caller reads it when the user leaves the run. */
  abortState: AbortState;
  /** Once this signal is aborted, everything here stops, and the run goes on. */
  leave: AbortSignal;
}

/**
 * Waits until a run is accepted, then copies its output byte for byte as it comes, until the run has ended
 * and its last byte is written.
 *
 * Two things abort the run: the first interrupt, and closed output (a local command would get SIGPIPE). After
 * the abort, `attend` still copies the rest of the output and waits for the end. The result then has
 * `abortedAs`.
 */
export async function attend(attendance: Attendance): Promise<Attended> {
  const { io, client, run, task, group, accepted, sinks, interrupts, leave } = attendance;
  const { progress, abortState, isQuiet } = attendance;
  let abortedAs: number | undefined;

  const abort = async (exitCode: number, reason: string, line: string) => {
    if (abortedAs !== undefined) return;
    abortedAs = exitCode;
    abortState.isRequested = true;
    await progress.stop();
    if (!isQuiet) await io.say(line);
    await accepted;
    await client.runs.abort(run, { reason, signal: leave, patience: PATIENCE });
    abortState.isConfirmed = true;
  };
  const interrupted = interrupts.first.then(({ signal, exitCode }) =>
    abort(
      exitCode,
      `${signal} to drover run`,
      `Aborting run ${run} and waiting for it to end. Press Ctrl-C again to stop waiting.`,
    ),
  );
  const copy = async (what: AttemptStream, printer?: StoryPrinter) => {
    const where = { follow: true, fromFirst: true, signal: leave, unreachableMs: OUT_OF_SIGHT_MS };
    const bytes = client.runs.logs(run, { ...what, ...where });
    const sink = sinks[what.stream];
    // In a group, a stream is copied verbatim only if nothing else is written to its sink.
    const alone = printer === undefined || (what.task === task && sink !== io.stderr);
    try {
      if (alone) await copyBytes(bytes, sink, progress);
      else for await (const line of linesOf(bytes)) await printer.output(what.task, line);
    } catch (error) {
      if (!(error instanceof OutputClosed)) throw error;
      const reason = "nothing reads its output any more";
      await abort(error.exitCode, reason, `Aborting run ${run}: ${reason}.`);
    }
  };
  const toTheEnd = async () => {
    await accepted;
    const ended = client.runs.wait(run, { signal: leave, patience: PATIENCE });
    const copies =
      group === undefined
        ? STREAMS.map((stream) => copy({ task, stream }))
        : [printStory({ io, client, run, tasks: group, isQuiet, progress, leave, copy })];
    const [status] = await Promise.all([ended, ...copies]);
    return { status, abortedAs };
  };
  try {
    // If the abort cannot be delivered, the error of the abort ends the wait. A delivered abort does not end
    // it.
    return await Promise.race([toTheEnd(), interrupted.then(() => new Promise<never>(() => {}))]);
  } finally {
    await progress.stop();
  }
}

async function copyBytes(bytes: AsyncIterable<Uint8Array>, sink: Sink, progress: Progress): Promise<void> {
  for await (const piece of bytes) {
    await progress.stop();
    await sink.write(piece);
  }
}
