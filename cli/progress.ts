import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../client/client.ts";
import { ApiError, UnreachableError } from "../client/errors.ts";
import type { Why } from "../client/types.ts";
import { colorsFor, type Io } from "./io.ts";
import { briefDuration, cut, printable } from "./text.ts";

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

/** Says nothing of what is waited for. */
export function noProgress(io: Io): Progress {
  return { stop: async () => {}, write: (lines) => io.stderr.write(lines) };
}

/**
 * Starts to watch a run. On a terminal one line is kept up to date. Elsewhere a line is printed once it takes
 * long, and another whenever the reason has changed.
 */
export function watchProgress(io: Io, client: Client, run: string): Progress {
  const over = new AbortController();
  const line = { drawn: false };
  const watch = io.interactive
    ? drawLine(io, reasons(client, run, over.signal), over.signal, line)
    : sayReasons(io, client, run, over.signal);
  return { ...shownUntilStopped(watch, over), write };

  async function write(lines: string): Promise<void> {
    const erase = line.drawn ? ERASE_LINE : "";
    line.drawn = false;
    await io.stderr.write(`${erase}${lines}`);
  }
}

/**
 * Starts to tell how far something is that is done here, if it takes long: on a terminal in one line that is
 * kept up to date, elsewhere once.
 */
export function watchWork(io: Io, text: () => string): Pick<Progress, "stop"> {
  const over = new AbortController();
  const { signal } = over;
  const once = async () => {
    await sleep(LONG_WAIT_MS, undefined, { signal });
    await io.say(text());
  };
  const watch = io.interactive ? drawLine(io, async () => text(), signal, { drawn: false }) : once();
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

async function drawLine(
  io: Io,
  textAt: (tick: number) => Promise<string>,
  signal: AbortSignal,
  line: { drawn: boolean },
): Promise<void> {
  const { dim } = colorsFor(io.stderr);
  const begun = performance.now();
  try {
    await sleep(FIRST_LOOK_MS, undefined, { signal });
    for (let tick = 0; ; tick += 1) {
      const text = await textAt(tick);
      signal.throwIfAborted();
      const clock = briefDuration(Math.floor((performance.now() - begun) / 1_000) * 1_000);
      const shown = cut(printable(text), io.stderr.columns() - clock.length - 4);
      line.drawn = true;
      await io.stderr.write(`${ERASE_LINE}${dim(`${shown} (${clock})`)}`);
      await sleep(TICK_MS, undefined, { signal });
    }
  } finally {
    if (line.drawn) await io.stderr.write(ERASE_LINE);
    line.drawn = false;
  }
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
