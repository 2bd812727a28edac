import type { Client } from "../../client/client.ts";
import type { RunStatus } from "../../client/types.ts";
import type { Interrupts } from "../terminal/interrupts.ts";
import type { Io } from "../terminal/io.ts";
import type { Progress } from "../terminal/progress.ts";
import { OutputClosed, type Sink } from "../terminal/sink.ts";
import { linesOf } from "./lines.ts";
import { OUT_OF_SIGHT_MS, PATIENCE } from "./patience.ts";
import { type Copied, type Teller, tellStory } from "./story.ts";

const STREAMS = ["stdout", "stderr"] as const;

/** How far the abort of a run has come. Until its answer is here nobody knows whether it has arrived. */
export interface AbortState {
  isAsked: boolean;
  isAnswered: boolean;
}

/** What became of a run that was attended. */
export interface Attended {
  status: RunStatus;
  /** The exit code to end with if the run was aborted: it was this command that asked for it. */
  abortedAs?: number;
}

export interface Attendance {
  io: Io;
  client: Client;
  run: string;
  /** Whose output is copied. */
  task: string;
  /**
   * The names of the tasks of a group: what happens to them is told on stderr, and what they write, each line
   * with its name. Absent: a lone command, of which nothing is told.
   */
  group?: readonly string[] | undefined;
  /** Resolves when the run has been accepted. */
  accepted: Promise<unknown>;
  /** Where the command's output goes. */
  sinks: { stdout: Sink; stderr: Sink };
  interrupts: Interrupts;
  /** Says what the run waits for, until there is something of it to see. */
  progress: Progress;
  /** Kept up to date here, for whoever leaves the run. */
  abortState: AbortState;
  /** Ends all that is going on here, and leaves the run alone. */
  leave: AbortSignal;
}

/**
 * Waits until a run is accepted, then copies its output as it comes, byte for byte, until the run has ended
 * and its last byte is written.
 *
 * Two things abort the run: the first interrupt, and a reader that has gone away, for which a local command
 * would be ended by SIGPIPE. Its output and its end are still waited for then, and `abortedAs` says so.
 */
export async function attend(attendance: Attendance): Promise<Attended> {
  const { io, client, run, task, group, accepted, sinks, interrupts, leave } = attendance;
  const { progress, abortState } = attendance;
  let abortedAs: number | undefined;

  const abort = async (exitCode: number, reason: string, line: string) => {
    if (abortedAs !== undefined) return;
    abortedAs = exitCode;
    abortState.isAsked = true;
    await progress.stop();
    await io.say(line);
    await accepted;
    await client.runs.abort(run, { reason, signal: leave, patience: PATIENCE });
    abortState.isAnswered = true;
  };
  const interrupted = interrupts.first.then(({ signal, exitCode }) =>
    abort(
      exitCode,
      `${signal} to drover run`,
      `Aborting run ${run}, and waiting for its end. Ctrl-C again: do not wait.`,
    ),
  );
  const copy = async (what: Copied, teller?: Teller) => {
    const wish = { ...what, follow: true, signal: leave, unreachableMs: OUT_OF_SIGHT_MS };
    const bytes = client.runs.logs(run, wish);
    const sink = sinks[what.stream];
    // Of a group only that stream comes out as it is that has a sink to itself.
    const alone = teller === undefined || (what.task === task && sink !== io.stderr);
    try {
      if (alone) await copyBytes(bytes, sink, progress);
      else for await (const line of linesOf(bytes)) await teller.output(what.task, line);
    } catch (error) {
      if (!(error instanceof OutputClosed)) throw error;
      const reason = "nobody reads its output any more";
      await abort(error.exitCode, reason, `Aborting run ${run}: ${reason}.`);
    }
  };
  const toTheEnd = async () => {
    await accepted;
    const ended = client.runs.wait(run, { signal: leave, patience: PATIENCE });
    const copies =
      group === undefined
        ? STREAMS.map((stream) => copy({ task, stream }))
        : [tellStory({ io, client, run, tasks: group, progress, leave, copy })];
    const [status] = await Promise.all([ended, ...copies]);
    return { status, abortedAs };
  };
  try {
    // An abort that cannot be delivered ends this, too; one that is delivered, or never asked for, does not.
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
