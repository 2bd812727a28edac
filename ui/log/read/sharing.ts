// How do the tabs of a browser share its connections, when each of them follows an output (ui.md#following)?
import { firstByte, isBehindTheEnd, type OpenLog } from "./log-reading.ts";

/**
 * So many connections of a browser follow output. Over HTTP/1.1 it has six for a host: one is for the changes
 * of a pool, and one is left for whatever else somebody does.
 */
const CONNECTIONS = 4;
/** For how long one tab keeps a connection that others wait for. */
const TURN_MS = 3_000;

/** A connection that is ours for a while. */
interface Turn {
  /** Aborts when it is somebody else's turn. */
  over: AbortSignal;
  end(): void;
}

/**
 * Opens a log that goes on, in turns: what a reader gets is one answer without a gap, whose bytes come from
 * one request for each turn. A tab that waits for its turn holds no connection.
 */
export function sharing(open: OpenLog): OpenLog {
  return async (span, signal) => {
    let turn = await turnFor(signal);
    const openNow = (wanted: typeof span) => open(wanted, AbortSignal.any([signal, turn.over]));
    const first = await openNow(span).catch((error) => {
      turn.end();
      throw error;
    });
    let at = firstByte(first);
    let reader = first.body?.getReader();
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      for (;;) {
        try {
          reader ??= (await openNow({ from: at })).body?.getReader();
          const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
          if (!done) {
            at += value.length;
            return controller.enqueue(value);
          }
        } catch (error) {
          const isOver = turn.over.aborted && !signal.aborted;
          turn.end();
          if (isOver) {
            reader = undefined;
            turn = await turnFor(signal);
            continue;
          }
          if (!isBehindTheEnd(error)) throw error;
        }
        turn.end();
        return controller.close();
      }
    };
    const cancel = async () => {
      turn.end();
      await reader?.cancel();
    };
    return new Response(new ReadableStream({ pull, cancel }), {
      headers: first.headers,
      status: first.status,
    });
  };
}

/**
 * Does work that holds a connection for long, with a signal that ends it. Resolves with undefined if it was
 * somebody else's turn before the work was done.
 */
export async function inTurn<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>) {
  const turn = await turnFor(signal);
  try {
    return await work(AbortSignal.any([signal, turn.over]));
  } catch (error) {
    if (turn.over.aborted && !signal.aborted) return undefined;
    throw error;
  } finally {
    turn.end();
  }
}

/** Takes a free connection, or waits for one. It is kept until others wait for it, but some time at least. */
async function turnFor(signal: AbortSignal): Promise<Turn> {
  const over = new AbortController();
  let end = () => {};
  const kept = new Promise<void>((done) => {
    end = done;
  });
  const name = (await takeFree(kept)) ?? (await waitForAny(signal, kept));
  if (signal.aborted) end();
  signal.throwIfAborted();
  const timer = setInterval(async () => {
    const { pending = [] } = await navigator.locks.query();
    if (pending.some((waiting) => waiting.name === name)) over.abort();
  }, TURN_MS);
  kept.then(() => clearInterval(timer));
  return { over: over.signal, end };
}

const nameOf = (connection: number) => `drover-output-${connection}`;

/** Holds a connection that is free until `kept` resolves. Resolves with its name; undefined: none is free. */
async function takeFree(kept: Promise<void>): Promise<string | undefined> {
  for (let connection = 0; connection < CONNECTIONS; connection++) {
    const name = nameOf(connection);
    if (await hold(name, { ifAvailable: true }, kept)) return name;
  }
  return undefined;
}

/** Waits for a connection by chance, so that those who wait are spread over all of them. */
async function waitForAny(signal: AbortSignal, kept: Promise<void>): Promise<string> {
  const name = nameOf(Math.floor(Math.random() * CONNECTIONS));
  await hold(name, { signal }, kept);
  return name;
}

/** Holds a lock until `kept` resolves. Resolves with whether it is held. */
function hold(name: string, options: LockOptions, kept: Promise<void>): Promise<boolean> {
  return new Promise((begun, failed) => {
    const held = (lock: Lock | null) => {
      begun(lock !== null);
      return lock === null ? undefined : kept;
    };
    navigator.locks.request(name, options, held).catch(failed);
  });
}
