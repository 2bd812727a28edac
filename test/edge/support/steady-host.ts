import { PROTOCOL } from "../../../src/shared/compat.ts";
import { until } from "../../local/support/scratch.ts";
import type { Json } from "./edge.ts";
import { HttpHost, OWN_POOL } from "./http-host.ts";
import type { Server } from "./server.ts";

const NO_LOGS = { stdout: { from: 0, size: 0 }, stderr: { from: 0, size: 0 } };
/** An exit as a host reports it. */
export const CLEAN_EXIT = { code: 0, signal: null, oomKilled: false, message: "" };

/** It supports what an agent of this version does. */
const MEANS = { kill: "processes", limits: [], protocol: PROTOCOL };

/** A host that reports its attempts as it was told to, until they are forgotten. */
export class SteadyHost extends HttpHost {
  readonly #from: Server;
  readonly #attempts = new Map<string, Json>();

  private constructor(server: Server) {
    super(server);
    this.#from = server;
  }

  /** A host that has joined this pool of self-hosted machines, which is created if it does not exist. */
  static async join(server: Server, pool: string, config: object = {}): Promise<SteadyHost> {
    await server.call("PUT", `/v1/pools/${pool}`, { ...OWN_POOL, ...config });
    const host = new SteadyHost(server);
    const { code } = await server.json(201, "POST", "/v1/enrollments", { pool });
    await host.enroll(code);
    await host.say();
    return host;
  }

  /** Reports the current state of its attempts, as the test has set it. */
  async say(more: object = {}): Promise<Json> {
    const { body } = await this.report({ attempts: [...this.#attempts.values()], means: MEANS, ...more });
    return body;
  }

  /** Waits until the run is placed here, and reports that it runs. Returns the id of its attempt. */
  async start(run: string, task = "main"): Promise<string> {
    const id = `${run}/${task}/1.1`;
    await until(`${id} is ordered`, async () => {
      const { attempts = [] } = await this.say();
      return attempts.some((one: Json) => one.id === id) || undefined;
    });
    await this.tell(id, { state: "running" });
    return id;
  }

  /** Sets the state of an attempt for all further reports. */
  async tell(id: string, how: object): Promise<void> {
    this.#attempts.set(id, { id, startedAgoMs: 5, log: NO_LOGS, ...how });
    await this.say();
  }

  /** Reports this end until the run has ended. */
  async end(run: string, how: object, task = "main"): Promise<Json> {
    await this.tell(`${run}/${task}/1.1`, { endedAgoMs: 1, ...how });
    const ended = await until(`${run} has ended`, async () => {
      await this.say();
      const status = await this.#from.json(200, "GET", `/v1/runs/${run}`);
      return ["pending", "running"].includes(status.state) ? undefined : status;
    });
    for (const id of this.#attempts.keys()) if (id.startsWith(`${run}/`)) this.#attempts.delete(id);
    return ended;
  }
}
