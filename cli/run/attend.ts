import type { Client } from "../../client/client.ts";
import type { RunStatus } from "../../src/schema/run.ts";
import type { Interrupts } from "../interrupts.ts";
import type { Io } from "../io.ts";
import { watchProgress } from "../progress.ts";
import { OutputClosed, type Sink } from "../sink.ts";
import { printable } from "../text.ts";

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
  /** What happens to the tasks is told on stderr, too. */
  story: boolean;
  /** Resolves when the run has been accepted. */
  accepted: Promise<unknown>;
  /** Where the command's output goes. */
  sinks: { stdout: Sink; stderr: Sink };
  interrupts: Interrupts;
  /** Ends all that is going on here, and leaves the run alone. */
  leave: AbortSignal;
}

/** How long one question for further events is held. */
const EVENTS_WAIT_MS = 30_000;

/** For how long a run that goes on may be out of sight before this command gives up. */
const OUT_OF_SIGHT_MS = 120_000;
export const PATIENCE = { unreachableMs: OUT_OF_SIGHT_MS, busyMs: OUT_OF_SIGHT_MS };

/**
 * Waits until a run is accepted, then copies its output as it comes, byte for byte, until the run has ended
 * and its last byte is written.
 *
 * Two things abort the run: the first interrupt, and a reader that has gone away, for which a local command
 * would be ended by SIGPIPE. Its output and its end are still waited for then, and `abortedAs` says so.
 */
export async function attend(attendance: Attendance): Promise<Attended> {
  const { io, client, run, task, accepted, sinks, interrupts, leave } = attendance;
  const progress = watchProgress(io, client, run);
  let abortedAs: number | undefined;

  const abort = async (exitCode: number, reason: string, line: string) => {
    if (abortedAs !== undefined) return;
    abortedAs = exitCode;
    await progress.stop();
    await io.say(line);
    await accepted;
    await client.runs.abort(run, { reason, signal: leave, patience: PATIENCE });
  };
  const interrupted = interrupts.first.then(({ signal, exitCode }) =>
    abort(
      exitCode,
      `${signal} to drover run`,
      `Aborting run ${run} and waiting for its end (Ctrl-C again leaves it alone).`,
    ),
  );
  const copy = async (stream: "stdout" | "stderr") => {
    try {
      const wish = { task, stream, follow: true, signal: leave, unreachableMs: OUT_OF_SIGHT_MS };
      for await (const bytes of client.runs.logs(run, wish)) {
        await progress.stop();
        await sinks[stream].write(bytes);
      }
    } catch (error) {
      if (!(error instanceof OutputClosed)) throw error;
      const reason = "nobody reads its output any more";
      await abort(error.exitCode, reason, `Aborting run ${run}: ${reason}.`);
    }
  };
  const toTheEnd = async () => {
    await accepted;
    const ended = client.runs.wait(run, { signal: leave, patience: PATIENCE });
    const story = attendance.story ? tellStory(attendance, () => progress.stop()) : undefined;
    const [status] = await Promise.all([ended, copy("stdout"), copy("stderr"), story]);
    return { status, abortedAs };
  };
  try {
    // An abort that cannot be delivered ends this, too; one that is delivered, or never asked for, does not.
    return await Promise.race([toTheEnd(), interrupted.then(() => new Promise<never>(() => {}))]);
  } finally {
    await progress.stop();
  }
}

/** Tells on stderr what happens to the tasks of a run, as it happens, until the run has ended. */
async function tellStory({ io, client, run, leave }: Attendance, before: () => Promise<void>): Promise<void> {
  let after = 0;
  for (let ended = false; !ended; ) {
    const page = await client.runs.events(run, {
      after,
      waitMs: EVENTS_WAIT_MS,
      signal: leave,
      patience: PATIENCE,
    });
    for (const { seq, task, type, message } of page.items) {
      await before();
      await io.stderr.write(`${printable(`${task ?? run}: ${type}: ${message}`)}\n`);
      after = seq;
    }
    ended = page.ended;
  }
}
