// Which reports of a host cost the control plane most? This thread sends such reports without a pause until
// it is told to end. It is a thread of its own, so that it does not slow down the thread that measures
// (`hostile.ts`).
import { parentPort, workerData } from "node:worker_threads";
import { enrollHost } from "./enrolled.ts";

/** How many webhook calls wait for an answer at a time, and how many reports one socket sends at a time. */
const CALLERS = 4;
const FRAMES_AT_ONCE = 16;
const HEARTBEAT_MS = 30_000;
const WITHIN_MS = 30_000;

const { url, code }: { url: string; code: string } = workerData;
const within = () => AbortSignal.timeout(WITHIN_MS);
const counts = { accepted: 0, refused: 0 };
let seq = 0;
let over = false;

const { plane, setup } = await enrollHost(url, code);
/** The reports, each with new names, so that nothing in them is known already. */
const LIES: ((n: number) => object)[] = [
  // A thousand runs that do not exist: a small report, but it can cost a message to each of their
  // allocations.
  (n) => ({ attempts: claims(n, 1_000) }),
  // The longest report that is allowed.
  (n) => ({ attempts: claims(n, 9_000) }),
  (n) => ({ attempts: [], kept: names(n, 1_000).map((run) => `${run}/1`) }),
  // A notice becomes a row, an event and a message to the pool.
  (n) => ({ attempts: [], draining: `${n} ${"漢".repeat(4_000)}`, goneInMs: n }),
  (n) => ({ attempts: [], draining: null, stale: names(n, 1_000) }),
];

function names(n: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `lie-${n}-${i}`);
}

function claims(n: number, count: number): object[] {
  return names(n, count).map((run) => ({ id: `${run}/main/1.1`, state: "running", startedAgoMs: 1 }));
}

function nextReport(): string {
  seq += 1;
  const lie = LIES[seq % LIES.length]?.(seq);
  const { incarnation } = setup;
  return JSON.stringify({ incarnation, seq, full: true, ordersSeen: 0, ...lie });
}

async function callForever(): Promise<void> {
  while (!over) {
    await plane.post(setup.reportUrl, "report", nextReport(), within()).then(
      () => (counts.accepted += 1),
      () => (counts.refused += 1),
    );
  }
}

async function sendForever(): Promise<void> {
  while (!over) {
    const closed = Promise.withResolvers<void>();
    const options = { heartbeatMs: HEARTBEAT_MS, withinMs: WITHIN_MS, frame: () => (counts.accepted += 1) };
    try {
      const ends = () => closed.resolve();
      const line = await plane.openSocket({
        ...options,
        url: setup.socketUrl ?? "",
        closed: ends,
      });
      for (let n = 0; n < FRAMES_AT_ONCE; n += 1) line.send(nextReport());
      await Promise.race([closed.promise, new Promise((resolve) => setTimeout(resolve, 1_000))]);
      line.hangUp();
    } catch {
      counts.refused += 1;
    }
  }
}

parentPort?.once("message", () => (over = true));
await Promise.all([...Array.from({ length: CALLERS }, callForever), sendForever()]);
parentPort?.postMessage(counts);
