// What does a person see while a run waits or an upload takes long?
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../client/client.ts";
import { ApiError, UnreachableError } from "../../client/errors.ts";
import { colorsFor, type Io } from "./io.ts";
import { briefDuration, cut, printable, wrap } from "./text.ts";

/** Shows what a run waits for, until the run has output. */
export interface Progress {
  /** Erases what is drawn, and shows nothing more. Await this call before writing anything else. */
  stop(): Promise<void>;
  /** Writes whole lines to stderr above the drawn progress. */
  write(lines: string): Promise<void>;
}

/**
 * During a shorter wait, nothing is shown. So a short run on a ready machine costs no request and does not
 * flicker.
 */
const FIRST_LOOK_MS = 500;
/** On a terminal, the command asks Drover this often why the run waits. */
const LOOK_EVERY_MS = 2_000;
/** On a terminal, the text and the time waited are redrawn this often. */
const TICK_MS = 1_000;
/** Without a terminal, one line is printed if a wait or an upload takes longer than this. */
const LONG_WAIT_MS = 10_000;
/** Without a terminal, the command asks Drover again after this time why the run waits. */
const LOOK_AGAIN_MS = 5_000;

const ERASE_LINE = "\r\x1b[K";
/** Moves to the line above and erases it. */
const ERASE_ABOVE = "\x1b[1A\x1b[2K";

/** A longer reason is cut, so that it does not push everything else off the screen. */
const MOST_CHARS = 500;

/** Shows no progress. */
export function noProgress(io: Io): Progress {
  return { stop: async () => {}, write: (lines) => io.stderr.write(lines) };
}

/**
 * Starts to show why a run waits. On a terminal, the reason and the time waited are redrawn every second, in
 * several lines if necessary. Without a terminal, the reason is printed after `LONG_WAIT_MS`, and again
 * whenever the reason changes.
 */
export function watchProgress(io: Io, client: Client, run: string): Progress {
  const over = new AbortController();
  const drawn = { lines: 0 };
  const watch = io.interactive
    ? draw(io, reasons(client, run, over.signal), over.signal, drawn)
    : sayReasons(io, client, run, over.signal);
  return { ...shownUntilStopped(watch, over), write };

  async function write(lines: string): Promise<void> {
    const erase = drawn.lines > 0 ? erasing(drawn.lines) : "";
    drawn.lines = 0;
    await io.stderr.write(`${erase}${lines}`);
  }
}

/**
 * Shows the progress of slow local work: on a terminal redrawn every second, without a terminal printed once.
 */
export function watchWork(io: Io, text: () => string): Pick<Progress, "stop"> {
  const over = new AbortController();
  const { signal } = over;
  const once = async () => {
    await sleep(LONG_WAIT_MS, undefined, { signal });
    await io.say(text());
  };
  const watch = io.interactive ? draw(io, async () => text(), signal, { lines: 0 }) : once();
  return shownUntilStopped(watch, over);
}

function shownUntilStopped(watch: Promise<void>, over: AbortController): Pick<Progress, "stop"> {
  const watching = watch.catch((error) => {
    // If `stop` was not called, drawing has failed. The command goes on, and will notice the same failure
    // when it writes its output.
    if (!over.signal.aborted) over.abort(error);
  });
  return {
    stop: async () => {
      over.abort();
      await watching;
    },
  };
}

/**
 * Returns a function that says why the run waits. The function is called every `TICK_MS`, and asks Drover
 * every `LOOK_EVERY_MS`.
 */
function reasons(client: Client, run: string, signal: AbortSignal): (tick: number) => Promise<string> {
  let text = "";
  return async (tick) => {
    if ((tick * TICK_MS) % LOOK_EVERY_MS === 0) text = (await currentReason(client, run, signal)).text;
    return text;
  };
}

async function draw(
  io: Io,
  textAt: (tick: number) => Promise<string>,
  signal: AbortSignal,
  drawn: { lines: number },
): Promise<void> {
  const { dim } = colorsFor(io.stderr);
  const begun = performance.now();
  try {
    await sleep(FIRST_LOOK_MS, undefined, { signal });
    for (let tick = 0; ; tick += 1) {
      const text = await textAt(tick);
      signal.throwIfAborted();
      const clock = briefDuration(Math.floor((performance.now() - begun) / 1_000) * 1_000);
      const columns = Math.max(1, io.stderr.columns() - 1);
      const shown = cut(printable(text), MOST_CHARS);
      const lines = wrap(`${shown} (${clock})`, columns);
      const erase = erasing(drawn.lines);
      drawn.lines = lines.length;
      await io.stderr.write(`${erase}${lines.map(dim).join("\n")}`);
      await sleep(TICK_MS, undefined, { signal });
    }
  } finally {
    if (drawn.lines > 0) await io.stderr.write(erasing(drawn.lines));
    drawn.lines = 0;
  }
}

/** The control characters that erase this many lines. The cursor must be in the last of these lines. */
function erasing(lines: number): string {
  return ERASE_LINE + ERASE_ABOVE.repeat(Math.max(0, lines - 1));
}

async function sayReasons(io: Io, client: Client, run: string, signal: AbortSignal): Promise<void> {
  await sleep(LONG_WAIT_MS, undefined, { signal });
  for (let printed: string | undefined; ; await sleep(LOOK_AGAIN_MS, undefined, { signal })) {
    const { text, waits } = await currentReason(client, run, signal);
    if (!waits) {
      if (printed !== undefined) await io.say(`Run ${run}: ${printable(text)}`);
      return;
    }
    // A changed number or countdown is not a new reason.
    const reason = text.replace(/\d+/g, "#");
    if (reason !== printed) await io.say(`Run ${run} waits: ${printable(text)}`);
    printed = reason;
  }
}

/** Why the run waits now. If Drover does not say why, the text describes that failure. */
async function currentReason(
  client: Client,
  run: string,
  signal: AbortSignal,
): Promise<{ text: string; waits: boolean }> {
  try {
    const why = await client.runs.why(run, { signal, patience: { unreachableMs: 0, busyMs: 0 } });
    return { text: why.reason.text || why.state, waits: why.state === "pending" };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UnreachableError) return { text: `${error.message}; trying again`, waits: true };
    if (!(error instanceof ApiError)) throw error;
    // Drover answers 404 while the submission is still being retried.
    return { text: error.status === 404 ? "it is not accepted yet" : error.detail, waits: true };
  }
}
