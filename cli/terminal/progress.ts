import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../client/client.ts";
import { ApiError, UnreachableError } from "../../client/errors.ts";
import type { Why } from "../../client/types.ts";
import { colorsFor, type Io } from "./io.ts";
import { briefDuration, cut, printable, wrap } from "./text.ts";

/** Says what a run waits for, until its output speaks for itself. */
export interface Progress {
  /** Erases what is drawn and says nothing more. To be awaited before anything else is written. */
  stop(): Promise<void>;
  /** Writes whole lines to stderr, in the place of what is drawn, which comes again below them. */
  write(lines: string): Promise<void>;
}

/** A run on a ready machine is over before this: nothing is asked for it, nothing flickers. */
const FIRST_LOOK_MS = 500;
/** Between two looks at the reason; the clock in the line goes on every second. */
const LOOK_EVERY_MS = 2_000;
const TICK_MS = 1_000;
/** Where nobody watches: how long something may take before one line says so. */
const LONG_WAIT_MS = 10_000;
/** Between two looks there, at whether the reason has changed. */
const LOOK_AGAIN_MS = 5_000;

const ERASE_LINE = "\r\x1b[K";
/** Erases the line above, too, and goes on there. */
const ERASE_ABOVE = "\x1b[1A\x1b[2K";

/** The most of a reason that is drawn: it is to be read, and must not push away what is above it. */
const MOST_CHARS = 500;

/** Says nothing of what is waited for. */
export function noProgress(io: Io): Progress {
  return { stop: async () => {}, write: (lines) => io.stderr.write(lines) };
}

/**
 * Starts to watch a run. On a terminal its reason is kept up to date, in several lines if it is long.
 * Elsewhere a line is printed once it takes long, and another whenever the reason has changed.
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
 * Starts to tell how far something is that is done here, if it takes long: on a terminal it is kept up to
 * date, elsewhere said once.
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
    // Ended by `stop`. What cannot be drawn is no reason to fail: the output itself meets the same trouble.
    if (!over.signal.aborted) over.abort(error);
  });
  return {
    stop: async () => {
      over.abort();
      await watching;
    },
  };
}

/** What a run waits for, looked up now and then. */
function reasons(client: Client, run: string, signal: AbortSignal): (tick: number) => Promise<string> {
  let text = "";
  return async (tick) => {
    if ((tick * TICK_MS) % LOOK_EVERY_MS === 0) text = (await look(client, run, signal)).text;
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

/** What erases so many lines, the last of which the cursor is in. */
function erasing(lines: number): string {
  return ERASE_LINE + ERASE_ABOVE.repeat(Math.max(0, lines - 1));
}

async function sayReasons(io: Io, client: Client, run: string, signal: AbortSignal): Promise<void> {
  await sleep(LONG_WAIT_MS, undefined, { signal });
  for (let said: string | undefined; ; await sleep(LOOK_AGAIN_MS, undefined, { signal })) {
    const { text, waits } = await look(client, run, signal);
    if (!waits) {
      if (said !== undefined) await io.say(`Run ${run}: ${printable(text)}`);
      return;
    }
    // A number that counts, or a time that comes nearer, is no other reason.
    const reason = text.replace(/\d+/g, "#");
    if (reason !== said) await io.say(`Run ${run} waits: ${printable(text)}`);
    said = reason;
  }
}

/** The reason of the moment; that nothing answers is one, too. */
async function look(
  client: Client,
  run: string,
  signal: AbortSignal,
): Promise<{ text: string; waits: boolean }> {
  try {
    const why = await client.runs.why(run, { signal, patience: { unreachableMs: 0, busyMs: 0 } });
    return { text: reasonLine(why), waits: why.state === "pending" };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UnreachableError) return { text: `${error.message}; trying again`, waits: true };
    if (!(error instanceof ApiError)) throw error;
    // There is no such run while its submission is still being tried again.
    return { text: error.status === 404 ? "it is not accepted yet" : error.detail, waits: true };
  }
}

function reasonLine(why: Why): string {
  return why.reason.text === "" ? why.state : why.reason.text;
}
