import { createHash } from "node:crypto";
import { JOB_LABELS } from "../../../src/shared/jobs/labels.ts";
import type { Json } from "../../edge/support/edge.ts";
import { HttpHost, OWN_POOL } from "../../edge/support/http-host.ts";
import type { Server } from "../../edge/support/server.ts";
import { until } from "../../local/support/scratch.ts";
import { type CallerName, makeCallers } from "./callers.ts";

/** A body of bytes, also used as a snapshot: no route reads the content of one. */
export const BYTES = Buffer.from("hello\n");
const SNAPSHOT = `sha256:${createHash("sha256").update(BYTES).digest("hex")}`;
/** The pool of the runs that the fuzzer submits. No machine serves it: they wait until they are aborted. */
export const QUEUE = "fuzz";
/** The pool of hosts that the fuzzer plays. */
export const HOSTS = "fuzz-hosts";
const LIBERAL = {
  allowFakeDriver: true,
  allowHostPaths: true,
  // Some machine could hold any run, so a refused run is refused for its content.
  instanceTypes: { none: { vcpus: 1_024, memory: "1TiB", disk: "1000TiB", gpus: 64 } },
};
/** Pools that are put, changed and deleted. */
const POOLS = ["fuzz-a", "fuzz-b", "fuzz-c"];
/** The most runs that wait at the same time: the others are aborted, oldest first. */
const MAX_WAITING = 60;
/** The operations whose answer is a new run, or several. */
const SUBMITTING = ["POST /v1/runs", "POST /v1/runs/{id}/redrive", "POST /v1/jobs/{name}/trigger"];
const REPORTS_EACH_MS = 10_000;
/** How many requests a host signs before another host takes its place: they may have made it a clone. */
const MAX_CALLS_OF_HOST = 20;

/** The objects of the requests: runs in every state, hosts, workers and pools, all made for this. */
export class World {
  readonly server: Server;
  /** What each caller sends. */
  readonly secrets: Record<CallerName, string>;
  /** Runs that were answered with 200 or 201, and that nobody has deleted. */
  readonly runs = new Set<string>();
  readonly pools = new Set<string>([QUEUE, HOSTS]);
  #waiting: string[] = [];
  #ended: string[] = [];
  #workers: string[] = [];
  #tokens: string[] = [];
  /** The first one is never deleted. */
  #webhooks: string[] = ["kept"];
  /** The projects that were made here; nothing belongs to them. */
  #projects: string[] = [];
  /** The host for each path: a join makes reports of an earlier start stale. */
  readonly #speakers = new Map<string, { calls: number; host: Promise<HttpHost> }>();
  /** It holds the run `held`, and gets no request that could end it. */
  holder: HttpHost;
  attempt = "held/main/1.1";
  invitation: Json;

  private constructor(
    server: Server,
    secrets: Record<CallerName, string>,
    holder: HttpHost,
    invitation: Json,
  ) {
    this.server = server;
    this.secrets = secrets;
    this.holder = holder;
    this.invitation = invitation;
  }

  static async make(server: Server): Promise<World> {
    await server.json(201, "PUT", `/v1/pools/${QUEUE}`, { ...OWN_POOL, ...LIBERAL, maxQueue: 500 });
    await server.json(201, "PUT", `/v1/pools/${HOSTS}`, { ...OWN_POOL, ...LIBERAL });
    const invite = (): Promise<Json> => server.json(201, "POST", "/v1/enrollments", { pool: HOSTS });
    const world = new World(server, await makeCallers(server), new HttpHost(server), await invite());
    await world.#readyHost(world.holder);
    for (const id of ["held", "ended", "gone", "parked"]) await world.#play(id);
    world.runs.add("held").add("ended").add("parked");
    world.#keepLease();
    world.#ended.push("ended");
    for (let n = 0; n < 3; n += 1) world.#workers.push((await invite()).worker);
    const token = { name: "read-and-rotated", preset: "viewer" };
    world.#tokens.push((await server.json(201, "POST", "/v1/tokens", token)).id);
    const webhook = { name: "kept", url: "https://receiver.example/kept" };
    await server.json(201, "POST", "/v1/webhooks", webhook);
    return world;
  }

  /** Without reports its host would lose `held` within minutes, which is less than a long test takes. */
  #keepLease(): void {
    const report = () => this.holder.report({ attempts: this.#attempts("held") }).catch(() => undefined);
    setInterval(() => void report(), REPORTS_EACH_MS).unref();
  }

  /** A run on the holder: it runs, has ended, is parked, or was deleted. */
  async #play(id: string): Promise<void> {
    const { holder, server } = this;
    const parks = id === "parked" ? { retry: { park: true } } : {};
    const spec = { id, pool: HOSTS, argv: ["true"], queueTimeout: "1h", ...parks };
    await server.json(201, "POST", "/v1/runs", spec);
    await until(`${id} is placed`, async () => {
      const { body } = await holder.report({ attempts: this.#attempts("held") });
      return body.attempts?.some((one: Json) => one.id === `${id}/main/1.1`) || undefined;
    });
    if (id === "held") {
      await holder.report({ attempts: this.#attempts("held") });
      return;
    }
    const exit = { code: id === "parked" ? 1 : 0, signal: null, oomKilled: false, message: "" };
    const data = Buffer.from("hello\n").toString("base64");
    const log = { stdout: { from: 0, size: 6, data }, stderr: { from: 0, size: 0 } };
    const attempts = [
      ...this.#attempts("held"),
      { id: `${id}/main/1.1`, state: "exited", startedAgoMs: 5, endedAgoMs: 1, exit, log },
    ];
    await until(`${id} has ended`, async () => {
      await holder.report({ attempts });
      return (await server.json(200, "GET", `/v1/runs/${id}`)).finishedAt !== null || undefined;
    });
    if (id !== "gone") return;
    await until("it is deleted", async () => {
      await holder.report({ attempts: this.#attempts("held") });
      return (await server.call("DELETE", `/v1/runs/${id}`)).status === 204 || undefined;
    });
  }

  #attempts(id: string): Json[] {
    const log = { stdout: { from: 0, size: 0 }, stderr: { from: 0, size: 0 } };
    return [{ id: `${id}/main/1.1`, state: "running", startedAgoMs: 5, log }];
  }

  /** A host that has reported, has room, and may get any request. */
  async #readyHost(host: HttpHost): Promise<HttpHost> {
    const { code } = await this.server.json(201, "POST", "/v1/enrollments", { pool: HOSTS });
    await host.enroll(code);
    await host.report({ means: { kill: "processes", limits: [], protocol: 0 } });
    return host;
  }

  /** The host that signs fuzzed requests; replaced after a while, since those may have ended it. */
  async speakerOf(path: string): Promise<HttpHost> {
    if (!path.startsWith("/v1/hosts/{worker}") || path.includes("/logs/")) return this.holder;
    const found = this.#speakers.get(path) ?? { calls: 0, host: this.#newSpeaker() };
    found.calls += 1;
    this.#speakers.set(path, found);
    // A join with another boot id counts as that of a clone, and ends both.
    const most = path.endsWith("/join") ? 1 : MAX_CALLS_OF_HOST;
    if (found.calls >= most) this.#speakers.delete(path);
    return found.host;
  }

  /**
   * A new host. A connection that the server closes just as it is used again fails its call, and all calls of
   * the host would fail with it: so another host is made once. A server that is gone fails that one, too.
   */
  #newSpeaker(): Promise<HttpHost> {
    const make = () => this.#readyHost(new HttpHost(this.server));
    return make().catch((error) => {
      console.warn(`another host is made, because: ${String(error)} ${String(error.cause ?? "")}`);
      return make();
    });
  }

  /** Forgets a speaker that a signed request has ended: the next one is another host. */
  forgetSpeaker(path: string): void {
    this.#speakers.delete(path);
  }

  /** A value for a part of a path: one of those that exist. */
  pathValue(operation: string, name: string, pick: number): string {
    const from = (...all: string[]) => all[pick % all.length] ?? "";
    if (name === "task") return "main";
    if (name === "stream") return from("stdout", "stderr");
    if (operation.includes("/v1/webhooks/")) {
      const some = operation.startsWith("DELETE") ? this.#webhooks.slice(1) : this.#webhooks;
      return some.length === 0 ? "nobody" : from(...some);
    }
    if (operation.includes("/v1/projects/")) {
      return this.#projects.length === 0 ? "nobody" : from(...this.#projects);
    }
    if (operation.includes("/v1/trust-rules/")) return from("ci", "other");
    if (operation.includes("/v1/secrets/")) return from("one", "two", "nobody");
    if (name === "name") return from(...POOLS);
    if (name === "snapshot") return SNAPSHOT;
    if (name === "attempt") return this.attempt;
    if (operation.includes("/v1/tokens/")) return this.#token(operation, pick);
    if (operation.includes("/v1/sessions/")) return from("0123456789", "unknown");
    if (operation.includes("/v1/workers/")) return from(...this.#workers);
    if (operation.endsWith("/redrive")) return from("parked", "parked", "ended");
    if (/^(PATCH|DELETE)|\/abort$/.test(operation)) return this.#victim(operation, pick);
    return from("held", "ended", "gone", "nobody", ...this.#waiting.slice(-2));
  }

  /** The first token is never revoked. */
  #token(operation: string, pick: number): string {
    const some = operation.startsWith("DELETE") ? this.#tokens.slice(1) : this.#tokens.slice(0, 1);
    return some[pick % Math.max(1, some.length)] ?? "0123456789";
  }

  #victim(operation: string, pick: number): string {
    const some = operation.startsWith("DELETE") ? this.#ended.filter((id) => id !== "ended") : this.#waiting;
    return pick % 9 === 0 ? "gone" : (some[pick % Math.max(1, some.length)] ?? "nobody");
  }

  /** Records what an answer has changed, and limits the number of waiting runs. */
  async note(operation: string, path: string, status: number, body: Json): Promise<void> {
    if (SUBMITTING.includes(operation) && (status === 200 || status === 201)) {
      const made: string[] = (body.items ?? [body]).map(({ id }: Json) => id);
      for (const id of made) this.#submitted(id);
    }
    if (operation === "DELETE /v1/runs/{id}" && status === 204) this.#forget(idIn(path));
    if (operation === "POST /v1/runs/{id}/abort" && status === 200) this.#end(body.id);
    if (operation === "POST /v1/enrollments" && status === 201)
      this.#workers = [...this.#workers.slice(-5), body.worker];
    if (operation === "POST /v1/tokens" && status === 201)
      this.#tokens = [...this.#tokens.slice(0, MAX_WAITING), body.id];
    if (operation === "POST /v1/webhooks" && status === 201)
      this.#webhooks = [...this.#webhooks.slice(0, MAX_WAITING), body.name];
    if (operation === "POST /v1/projects" && status === 201)
      this.#projects = [...this.#projects.slice(-5), body.name];
    if (operation === "PUT /v1/pools/{name}" && status < 300) this.pools.add(body.name);
    while (this.#waiting.length > MAX_WAITING) await this.#abortOldest();
  }

  #submitted(id: string): void {
    this.runs.add(id);
    if (id !== "held" && id !== "ended" && !this.#waiting.includes(id)) this.#waiting.push(id);
  }

  async #abortOldest(): Promise<void> {
    const id = this.#waiting.shift() ?? "";
    const answer = await this.server.call("POST", `/v1/runs/${id}/abort`, {});
    const { state } = (await answer.json()) as Json;
    if (state !== undefined) this.#end(id);
  }

  #end(id: string): void {
    this.#waiting = this.#waiting.filter((one) => one !== id);
    if (!this.#ended.includes(id)) this.#ended.push(id);
    if (this.#ended.length > MAX_WAITING) this.#ended.splice(1, 1);
  }

  #forget(id: string): void {
    this.runs.delete(id);
    this.#ended = this.#ended.filter((one) => one !== id);
  }

  /**
   * Ends the making of runs by jobs, and takes over those that no answer has named: the runs of ticks and of
   * redrives of many, of jobs that are deleted by now, too.
   */
  async #pauseJobs(): Promise<void> {
    const { items: jobs } = await this.server.json(200, "GET", "/v1/jobs");
    for (const { name } of jobs) await this.server.json(200, "POST", `/v1/jobs/${name}/pause`);
    for (const { id, labels } of await allRuns(this.server)) {
      if (JOB_LABELS.job in labels && !this.runs.has(id)) this.#submitted(id);
    }
  }

  /** Ends what still waits. */
  async close(): Promise<void> {
    await this.#pauseJobs();
    while (this.#waiting.length > 0) await this.#abortOldest();
    await this.server.call("POST", "/v1/runs/held/abort", {});
    let asked: string[] = [];
    await until("held has ended, and what else its host was asked to run", async () => {
      const { body } = await this.holder.report({ attempts: [this.attempt, ...asked].map(exited) });
      asked = (body.attempts ?? []).map(({ id }: Json) => id).filter((id: string) => id !== this.attempt);
      const { state } = await this.server.json(200, "GET", "/v1/runs/held");
      return asked.length === 0 && state === "aborted";
    });
  }
}

/** What a host reports of an attempt that a signal has ended. */
function exited(id: string): Json {
  const exit = { code: null, signal: "SIGTERM", oomKilled: false, message: "" };
  const log = { stdout: { from: 0, size: 0 }, stderr: { from: 0, size: 0 } };
  return { id, state: "exited", startedAgoMs: 5, endedAgoMs: 1, exit, log };
}

/** All runs in a state of the query, or all. */
export async function allRuns(server: Server, query = ""): Promise<Json[]> {
  const runs: Json[] = [];
  let cursor = "";
  do {
    const { items, next } = await server.json(200, "GET", `/v1/runs?limit=1000${query}${cursor}`);
    runs.push(...items);
    cursor = next === null ? "" : `&cursor=${next}`;
  } while (cursor !== "");
  return runs;
}

const idIn = (path: string) => decodeURIComponent(path.split("?")[0]?.split("/").at(-1) ?? "");
