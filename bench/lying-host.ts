// A host that sends the worst that the protocol allows, without a pause, until it is stopped. It runs in its
// own thread, so that it does not slow down the thread that measures (`hostile.ts`).
import { parentPort, workerData } from "node:worker_threads";
import { enrolled } from "./enrolled.ts";

/** What it says by webhook at once, and what beside that on a socket. */
const CALLERS = 4;
const FRAMES_AT_ONCE = 16;
const HEARTBEAT_MS = 30_000;
const WITHIN_MS = 30_000;

const { url, code }: { url: string; code: string } = workerData;
const within = () => AbortSignal.timeout(WITHIN_MS);
const said = { taken: 0, refused: 0 };
let seq = 0;
let over = false;

const { plane, setup } = await enrolled(url, code);
/** Each time other names, so that nothing of it is known already. */
const LIES: ((n: number) => object)[] = [
  // A thousand runs of nobody: small, and each was asked.
  (n) => ({ attempts: claims(n, 1_000) }),
  // As long as a report may be.
  (n) => ({ attempts: claims(n, 9_000) }),
  (n) => ({ attempts: [], kept: names(n, 1_000).map((run) => `${run}/1`) }),
  // What becomes a row, an event and a message to the pool.
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

async function callOnAndOn(): Promise<void> {
  while (!over) {
    await plane.post(setup.reportUrl, "report", nextReport(), within()).then(
      () => (said.taken += 1),
      () => (said.refused += 1),
    );
  }
}

async function sendOnAndOn(): Promise<void> {
  while (!over) {
    const closed = Promise.withResolvers<void>();
    const options = { heartbeatMs: HEARTBEAT_MS, withinMs: WITHIN_MS, frame: () => (said.taken += 1) };
    try {
      const ends = () => closed.resolve();
      const line = await plane.openLine({
        ...options,
        url: setup.socketUrl ?? "",
        closed: ends,
      });
      for (let n = 0; n < FRAMES_AT_ONCE; n += 1) line.send(nextReport());
      await Promise.race([closed.promise, new Promise((resolve) => setTimeout(resolve, 1_000))]);
      line.hangUp();
    } catch {
      said.refused += 1;
    }
  }
}

parentPort?.once("message", () => (over = true));
await Promise.all([...Array.from({ length: CALLERS }, callOnAndOn), sendOnAndOn()]);
parentPort?.postMessage(said);
