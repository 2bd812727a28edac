import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../client/client.ts";
import { ApiError, UnreachableError } from "../client/errors.ts";
import type { Why } from "../src/schema/run.ts";
import { colorsFor, type Io } from "./io.ts";
import { briefDuration, cut, printable } from "./text.ts";

/** Says what a run waits for, until its output speaks for itself. */
export interface Progress {
  /** Erases what is drawn and says nothing more. To be awaited before anything else is written. */
  stop(): Promise<void>;
}

/** A run on a ready machine is over before this: nothing is asked for it, nothing flickers. */
const FIRST_LOOK_MS = 500;
/** Between two looks at the reason; the clock in the line goes on every second. */
const LOOK_EVERY_MS = 2_000;
const TICK_MS = 1_000;
/** Where nobody watches: how long a run may wait before one line says why. */
const LONG_WAIT_MS = 5_000;

const ERASE_LINE = "\r\x1b[K";

/**
 * Starts to watch a run. On a terminal one line is kept up to date; elsewhere one line is printed if it takes
 * long.
 */
export function watchProgress(io: Io, client: Client, run: string): Progress {
  const over = new AbortController();
  const watching = (io.interactive ? drawLine : sayOnce)(io, client, run, over.signal).catch((error) => {
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

async function drawLine(io: Io, client: Client, run: string, signal: AbortSignal): Promise<void> {
  const { dim } = colorsFor(io.stderr);
  const begun = performance.now();
  let drawn = false;
  try {
    await sleep(FIRST_LOOK_MS, undefined, { signal });
    let text = "";
    for (let ticks = 0; ; ticks += 1) {
      if ((ticks * TICK_MS) % LOOK_EVERY_MS === 0) text = (await look(client, run, signal)).text;
      signal.throwIfAborted();
      const clock = briefDuration(Math.floor((performance.now() - begun) / 1_000) * 1_000);
      const line = cut(printable(text), io.stderr.columns() - clock.length - 4);
      drawn = true;
      await io.stderr.write(`${ERASE_LINE}${dim(`${line} (${clock})`)}`);
      await sleep(TICK_MS, undefined, { signal });
    }
  } finally {
    if (drawn) await io.stderr.write(ERASE_LINE);
  }
}

async function sayOnce(io: Io, client: Client, run: string, signal: AbortSignal): Promise<void> {
  await sleep(LONG_WAIT_MS, undefined, { signal });
  const { text, waits } = await look(client, run, signal);
  if (waits) await io.say(`Run ${run} waits: ${printable(text)}`);
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
    // There is no such run while its submission is still being tried again.
    const early = error instanceof ApiError && error.status === 404;
    return early ? { text: "it is not accepted yet", waits: true } : { text: "waiting", waits: false };
  }
}

function reasonLine(why: Why): string {
  return why.reason.text === "" ? why.state : why.reason.text;
}
