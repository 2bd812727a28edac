// Which pool does the page follow, and how far is it (ui.md#live-data)?
import { effect, signal } from "@preact/signals";
import type { PoolChange } from "../../src/generated/api.ts";
import { backOffMs, spread } from "../../src/shared/time/backoff.ts";
import { eventsOf } from "../api/events.ts";
import { callOf, isTemporary, send } from "../api/send.ts";
import { session } from "../api/session.ts";
import { isVisible } from "./clock.ts";
import { runs, workers } from "./entities.ts";
import { onFrame } from "./frame.ts";
import { frugalMs } from "./frugal.ts";
import { Turn } from "./turn.ts";

/** How the stream is. `at` is the number of the latest change. */
type Live =
  | { is: "off" }
  | { is: "connecting" | "live" | "resuming"; pool: string; at: number | undefined }
  | { is: "paused" | "gone" | "refused"; pool: string };

/** What the top bar says of the stream. */
export const live = signal<Live>({ is: "off" });
/** The pool that the shown page is about; undefined: nothing there can change. */
export const followed = signal<string | undefined>(undefined);
/** How many changes have been applied: lists ask again when these grow. */
export const changes = { runs: signal(0), workers: signal(0) };

/**
 * Grows when this page begins to follow a pool without knowing how far it was. What was asked before may have
 * missed a change, and a stream begins with what is live: an end is not in it (ui.md#live-data).
 */
export const begun = signal(0);

function noteBegin(): void {
  for (const number of [begun, changes.runs, changes.workers]) number.value += 1;
}

/** Hidden pages stop after this time (ui.md#d13). */
const HIDDEN_MS = 60_000;
const DELAYS = { firstMs: 1_000, longestMs: 30_000 };

/** What tabs of one browser tell each other: one of them holds the stream. */
type Told = { changes: readonly PoolChange[] } | { state: Live } | { is: "new here" };

/** Follows the pool that `followed` names, for as long as somebody is signed in and can see the page. */
export function startLive(): void {
  const wanted = signal<string | undefined>(undefined);
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const isWanted = session.value.is === "in" && frugalMs.value === undefined;
    const pool = isWanted ? followed.value : undefined;
    clearTimeout(timer);
    if (isVisible.value || pool === undefined) wanted.value = pool;
    else {
      timer = setTimeout(() => {
        wanted.value = undefined;
        live.value = { is: "paused", pool };
      }, HIDDEN_MS);
    }
  });
  effect(() => {
    const pool = wanted.value;
    if (pool === undefined) return;
    const ending = new AbortController();
    void takePart(pool, ending.signal);
    return () => {
      ending.abort();
      live.value = { is: "off" };
    };
  });
}

/** Whether another tab has news only from now on, as it says. */
function hasBegun(before: Live, now: Live): boolean {
  const isAnew = now.is === "live" && now.at === undefined && before.is !== "live";
  return before.is === "connecting" || isAnew;
}

/** The latest change of each pool that has been applied here, from which a stream goes on. */
const latest = new Map<string, number>();

/** Listens to the tab that holds the stream, and holds it when that one has left. */
async function takePart(pool: string, ending: AbortSignal): Promise<void> {
  const name = `drover-changes-${pool}`;
  const tabs = new BroadcastChannel(name);
  ending.addEventListener("abort", () => tabs.close());
  live.value = { is: "connecting", pool, at: latest.get(pool) };
  let isLeading = false;
  tabs.onmessage = ({ data }: MessageEvent<Told>) => {
    if ("changes" in data) take(data.changes);
    else if ("state" in data) {
      if (hasBegun(live.peek(), data.state)) noteBegin();
      live.value = data.state;
    } else if (isLeading) tell({ state: live.peek() });
  };
  const take = (told: readonly PoolChange[]) => {
    const last = told.at(-1);
    if (last !== undefined) latest.set(pool, last.number);
    onFrame(() => apply(told));
  };
  const tell = (told: Told) => {
    if (!ending.aborted) tabs.postMessage(told);
  };
  tell({ is: "new here" });
  const holdStream = () => {
    isLeading = true;
    return lead(pool, tell, ending);
  };
  // The request is given up when the stream is not wanted any more.
  await navigator.locks.request(name, { signal: ending }, holdStream).catch(() => undefined);
}

/** Holds the stream until it is not wanted any more, or the pool is gone. */
async function lead(pool: string, tell: (told: Told) => void, ending: AbortSignal): Promise<void> {
  const say = (state: Live) => {
    if (ending.aborted) return;
    live.value = state;
    tell({ state });
  };
  let arrived: PoolChange[] = [];
  const show = () => {
    const shown = arrived;
    arrived = [];
    apply(shown);
    tell({ changes: shown });
  };
  for (let failures = 0; !ending.aborted; ) {
    try {
      const hasEnded = await readOn(pool, ending, (change) => {
        failures = 0;
        if (change === undefined) return say({ is: "live", pool, at: latest.get(pool) });
        if (arrived.push(change) === 1) onFrame(show);
        latest.set(pool, change.number);
        if (live.peek().is !== "live") say({ is: "live", pool, at: change.number });
      });
      if (hasEnded) return say({ is: "gone", pool });
    } catch (error) {
      if (ending.aborted) return;
      if (Object(error).code === "unknown_pool") return say({ is: "gone", pool });
      if (!isTemporary(error)) return say({ is: "refused", pool });
    }
    failures += 1;
    say({ is: "resuming", pool, at: latest.get(pool) });
    await pause(spread(backOffMs(DELAYS, failures), Math.random()), ending);
  }
}

/**
 * Reads the stream from the latest change on, until it breaks. `take` gets undefined once it is open.
 * Resolves with whether the pool has ended.
 */
async function readOn(
  pool: string,
  ending: AbortSignal,
  take: (change: PoolChange | undefined) => void,
): Promise<boolean> {
  const after = latest.get(pool);
  const input = { query: { pool, ...(after === undefined ? {} : { after: String(after) }) } };
  const call = callOf("listPoolEvents", input, { signal: ending });
  const response = await send({ ...call, headers: { accept: "text/event-stream" } });
  if (after === undefined) noteBegin();
  take(undefined);
  const turn = new Turn();
  for await (const { id, event, data } of eventsOf(response)) {
    // A stream begins with all that is live: a reader's key must not wait for the last of it.
    await turn.ended();
    if (event === "end") return true;
    if (event !== "run" && event !== "worker") continue;
    // What the server sends is made by the schema of a change.
    take({ number: Number(id), [event]: JSON.parse(data) } as PoolChange);
  }
  return false;
}

/** Takes changes into the store. Lists hear of all of them at once. */
function apply(arrived: readonly PoolChange[]): void {
  for (const { run, worker } of arrived) {
    if (run !== undefined) runs.put(run);
    if (worker !== undefined) workers.put(worker);
  }
  if (arrived.some(({ run }) => run !== undefined)) changes.runs.value += 1;
  if (arrived.some(({ worker }) => worker !== undefined)) changes.workers.value += 1;
}

function pause(ms: number, ending: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    ending.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    });
  });
}
