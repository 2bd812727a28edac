// How many hosts can one pool serve? Measures a thousand hosts that report.
import { retryDelayMs } from "../../agent/core/reports/pace.ts";
import type { ControlPlane } from "../../agent/plane/control-plane.ts";
import type { OpenSocket } from "../../agent/plane/socket.ts";
import type { HostSetup } from "../../src/schema/host.ts";
import type { Drover } from "../drover.ts";
import { enrollHost } from "../enrolled.ts";
import { residentBytes } from "../memory.ts";
import { percentile, type Row } from "../table.ts";

/** A pool that only self-hosted machines serve. */
const POOL = {
  provider: { kind: "http", url: "http://127.0.0.1:9", secret: "none" },
  instanceTypes: { none: { vcpus: 1, memory: "1GiB" } },
  maxInstances: 0,
};
const HEARTBEAT_MS = 30_000;
const WITHIN_MS = 60_000;
/** How many hosts enroll at the same time: machines do not all boot at once. */
const JOINING_AT_ONCE = 16;

/** A host that has no machine behind it. It reports that nothing runs. */
class LightHost {
  #plane: ControlPlane | undefined;
  #setup: HostSetup | undefined;
  #socket: OpenSocket | undefined;
  #seq = 0;

  async enroll(drover: Drover): Promise<void> {
    const { code } = await drover.call<{ code: string }>("POST", "/v1/enrollments", { pool: "hosts" });
    const { plane, setup } = await enrollHost(drover.url, code);
    this.#plane = plane;
    this.#setup = setup;
  }

  /** Opens the socket, sends a full report, and resolves when it is answered. */
  async connect(): Promise<void> {
    const { socketUrl: url = "", incarnation } = this.#setup ?? {};
    const answered = Promise.withResolvers<void>();
    const frame = () => answered.resolve();
    const closed = (code: number) => answered.reject(new Error(`the socket was closed with ${code}`));
    const options = { url, heartbeatMs: HEARTBEAT_MS, withinMs: WITHIN_MS, frame, closed };
    this.#socket = await this.#plane?.openSocket(options);
    this.#seq += 1;
    const report = { incarnation, seq: this.#seq, full: true, ordersSeen: 0, attempts: [] };
    this.#socket?.send(JSON.stringify(report));
    await answered.promise;
  }

  cut(): void {
    this.#socket?.hangUp();
  }
}

/**
 * Measures `count` hosts of one pool, each with a socket: the time until each report is answered when all
 * hosts reconnect at the same time (cases.md#case-15), and the memory of an idle host. The hosts reconnect
 * with the full jitter of an agent's first try.
 */
export async function measureHosts(drover: Drover, count: number): Promise<Row[]> {
  await drover.call("PUT", "/v1/pools/hosts", POOL);
  const hosts = Array.from({ length: count }, () => new LightHost());
  const before = residentBytes(drover.pid);
  const waiting = [...hosts];
  const join = async () => {
    for (let host = waiting.pop(); host !== undefined; host = waiting.pop()) {
      await host.enroll(drover);
      await host.connect();
    }
  };
  await Promise.all(Array.from({ length: JOINING_AT_ONCE }, join));
  const perHost = (residentBytes(drover.pid) - before) / count;
  for (const host of hosts) host.cut();
  const cutAt = performance.now();
  const answeredAfter = await Promise.all(
    hosts.map(async (host) => {
      await new Promise((resolve) => setTimeout(resolve, retryDelayMs(0, Math.random())));
      await host.connect();
      return performance.now() - cutAt;
    }),
  );
  for (const host of hosts) host.cut();
  const at = (share: number) => `${Math.round(percentile(answeredAfter, share))} ms`;
  const what = `${count} hosts cut off at once → answered again`;
  const memory = { n: count, p50: `${Math.round(perHost / 1_024)} KiB`, p95: "", max: "", budget: "" };
  return [
    { what, n: count, p50: at(0.5), p95: at(0.95), max: at(1), budget: "" },
    { what: "memory of an idle host", ...memory },
  ];
}
