// Hosts without machines: how the benchmark measures the control plane alone.
import type { ControlPlane } from "../agent/plane/control-plane.ts";
import type { OpenSocket } from "../agent/plane/socket.ts";
import type { HostSetup, Orders } from "../src/schema/host.ts";
import type { Drover } from "./drover.ts";
import { enrollHost } from "./enrolled.ts";

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
const NO_BYTES = { from: 0, size: 0 };
/** How each attempt ends, at once and without any output. */
const ENDED = {
  state: "exited",
  startedAgoMs: 1,
  endedAgoMs: 0,
  exit: { code: 0, signal: null, oomKilled: false, message: "" },
  log: { stdout: NO_BYTES, stderr: NO_BYTES },
};

/** A host of four vCPUs that reports the end of each attempt as soon as the attempt is ordered. */
export class LightHost {
  #plane: ControlPlane | undefined;
  #setup: HostSetup | undefined;
  #socket: OpenSocket | undefined;
  #seq = 0;
  #ordersSeen = 0;
  #attempts = new Set<string>();

  /** Enrolls it in a pool. */
  async enroll(drover: Drover, pool: string): Promise<void> {
    const { code } = await drover.call<{ code: string }>("POST", "/v1/enrollments", { pool });
    const { plane, setup } = await enrollHost(drover.url, code);
    this.#plane = plane;
    this.#setup = setup;
  }

  /** Opens the socket, sends a full report, and resolves when it is answered. */
  async connect(): Promise<void> {
    const url = this.#setup?.socketUrl ?? "";
    const answered = Promise.withResolvers<void>();
    const frame = (text: string) => {
      answered.resolve();
      // The control plane sends orders of this form.
      this.#obey(JSON.parse(text) as Orders);
    };
    const closed = (code: number) => answered.reject(new Error(`the socket was closed with ${code}`));
    const options = { url, heartbeatMs: HEARTBEAT_MS, withinMs: WITHIN_MS, frame, closed };
    this.#socket = await this.#plane?.openSocket(options);
    this.#report(true, [...this.#attempts]);
    await answered.promise;
  }

  /** Closes the socket. */
  cut(): void {
    this.#socket?.hangUp();
  }

  #obey({ attempts, revision }: Orders): void {
    this.#ordersSeen = revision;
    const known = this.#attempts;
    this.#attempts = new Set(attempts.map(({ id }) => id));
    const ended = [...this.#attempts].filter((id) => !known.has(id));
    if (ended.length > 0) this.#report(false, ended);
  }

  #report(full: boolean, ids: readonly string[]): void {
    this.#seq += 1;
    const { incarnation } = this.#setup ?? {};
    const attempts = ids.map((id) => ({ id, ...ENDED }));
    const report = { incarnation, seq: this.#seq, full, ordersSeen: this.#ordersSeen, attempts };
    this.#socket?.send(JSON.stringify(report));
  }
}

/** Puts the pools of the hosts, and connects each host to its pool. */
export async function joinAll(
  drover: Drover,
  hosts: readonly LightHost[],
  poolOf: (index: number) => string,
): Promise<void> {
  const pools = new Set(hosts.map((_, index) => poolOf(index)));
  for (const pool of pools) await drover.call("PUT", `/v1/pools/${pool}`, POOL);
  const waiting = hosts.map((host, index) => ({ host, pool: poolOf(index) }));
  const join = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      await next.host.enroll(drover, next.pool);
      await next.host.connect();
    }
  };
  await Promise.all(Array.from({ length: JOINING_AT_ONCE }, join));
}
