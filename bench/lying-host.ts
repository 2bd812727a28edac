// A host that says the worst that the protocol allows, without a pause, until it is told to end: a thread of
// its own, so that it takes nothing of the thread that measures (`hostile.ts`).
import { parentPort, workerData } from "node:worker_threads";
import { ControlPlane } from "../agent/plane/control-plane.ts";
import { makeSecret } from "../agent/plane/sign.ts";
import type { HostSetup } from "../src/schema/host.ts";

/** What it says by webhook at once, and what beside that on a socket. */
const CALLERS = 4;
const FRAMES_AT_ONCE = 16;
const HEARTBEAT_MS = 30_000;
const WITHIN_MS = 30_000;

const { url, code }: { url: string; code: string } = workerData;
const plane = new ControlPlane(makeSecret());
const within = () => AbortSignal.timeout(WITHIN_MS);
const said = { taken: 0, refused: 0 };
let seq = 0;
let over = false;

const setup = await enroll();
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

async function enroll(): Promise<HostSetup> {
  const resources = { vcpus: 4, memoryBytes: 2 ** 33, diskBytes: 2 ** 33, gpus: 0 };
  const agent = { version: "bench", os: "linux", arch: "x64" };
  const request = { code, secret: plane.secret, agent, bootId: "boot-1", resources };
  // The answer of the control plane that is measured, by its schema.
  return (await plane.post(`${url}/v1/hosts/enroll`, request, within())) as HostSetup;
}

function names(n: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `lie-${n}-${i}`);
}

function claims(n: number, count: number): object[] {
  return names(n, count).map((run) => ({ id: `${run}/main/1.1`, state: "running", startedAgoMs: 1 }));
}

function nextReport(): { seq: number; body: string } {
  seq += 1;
  const lie = LIES[seq % LIES.length]?.(seq);
  const { incarnation } = setup;
  return { seq, body: JSON.stringify({ incarnation, seq, full: true, ordersSeen: 0, ...lie }) };
}

async function callOnAndOn(): Promise<void> {
  while (!over) {
    const { seq: number, body } = nextReport();
    await plane.postSigned(setup.reportUrl, `report_${number}`, body, within()).then(
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
      const line = await plane.openLine(`socket_${seq}`, {
        ...options,
        url: setup.socketUrl ?? "",
        closed: ends,
      });
      for (let n = 0; n < FRAMES_AT_ONCE; n += 1) line.send(nextReport().body);
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
