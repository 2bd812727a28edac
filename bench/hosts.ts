// How many hosts can one pool keep? Measures a thousand that report.
import { retryDelayMs } from "../agent/core/reports/pace.ts";
import type { ControlPlane } from "../agent/plane/control-plane.ts";
import type { Line } from "../agent/plane/socket.ts";
import type { HostSetup } from "../src/schema/host.ts";
import type { Drover } from "./drover.ts";
import { enrolled } from "./enrolled.ts";
import { residentBytes } from "./memory.ts";
import { percentile, type Row } from "./table.ts";

/** A pool that only self-hosted machines serve. */
const POOL = {
  provider: { kind: "http", url: "http://127.0.0.1:9", secret: "none" },
  instanceTypes: { none: { vcpus: 1, memory: "1GiB" } },
  maxInstances: 0,
};
const HEARTBEAT_MS = 30_000;
const WITHIN_MS = 60_000;
/** How many join at a time: that many machines are not booted in one moment. */
const JOINING_AT_ONCE = 16;

/** The wire of one host, without a machine behind it: what it says is that nothing runs there. */
class LightHost {
  #plane: ControlPlane | undefined;
  #setup: HostSetup | undefined;
  #line: Line | undefined;
  #seq = 0;

  async enroll(drover: Drover): Promise<void> {
    const { code } = await drover.call<{ code: string }>("POST", "/v1/enrollments", { pool: "hosts" });
    const { plane, setup } = await enrolled(drover.url, code);
    this.#plane = plane;
    this.#setup = setup;
  }

  /** Opens its socket, says all that there is to say, and resolves when that was answered. */
  async connect(): Promise<void> {
    const { socketUrl: url = "", incarnation } = this.#setup ?? {};
    const answered = Promise.withResolvers<void>();
    const frame = () => answered.resolve();
    const closed = (code: number) => answered.reject(new Error(`the socket was closed with ${code}`));
    const options = { url, heartbeatMs: HEARTBEAT_MS, withinMs: WITHIN_MS, frame, closed };
    this.#line = await this.#plane?.openLine(options);
    this.#seq += 1;
    const report = { incarnation, seq: this.#seq, full: true, ordersSeen: 0, attempts: [] };
    this.#line?.send(JSON.stringify(report));
    await answered.promise;
  }

  cut(): void {
    this.#line?.hangUp();
  }
}

/**
 * So many hosts of one pool, on sockets of their own: how long it takes until each is heard when all connect
 * again at once (cases.md#case-15), and what an idle one costs in memory. They come back with the full jitter
 * that agents have on their first try.
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
  const heardAfter = await Promise.all(
    hosts.map(async (host) => {
      await new Promise((resolve) => setTimeout(resolve, retryDelayMs(0, Math.random())));
      await host.connect();
      return performance.now() - cutAt;
    }),
  );
  for (const host of hosts) host.cut();
  const at = (share: number) => `${Math.round(percentile(heardAfter, share))} ms`;
  const what = `${count} hosts cut off at once → heard again`;
  const memory = { n: count, p50: `${Math.round(perHost / 1_024)} KiB`, p95: "", max: "", budget: "" };
  return [
    { what, n: count, p50: at(0.5), p95: at(0.95), max: at(1), budget: "" },
    { what: "memory of an idle host", ...memory },
  ];
}
