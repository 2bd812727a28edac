import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { RequestKey } from "../../../src/core/allocation/state.ts";
import type { Denied } from "../../../src/core/registry/audit.ts";
import { type RegistryEvent, registryMachine } from "../../../src/core/registry/machine.ts";
import { withProject } from "../../../src/core/registry/pool-projects.ts";
import { keyOf, type Named } from "../../../src/core/registry/projects.ts";
import { withSecret } from "../../../src/core/registry/secret.ts";
import { BackupCalls } from "../../../src/objects/registry/backup-calls.ts";
import { KeyCalls } from "../../../src/objects/registry/key-calls.ts";
import { ProjectCalls } from "../../../src/objects/registry/project-calls.ts";
import { SessionCalls } from "../../../src/objects/registry/session-calls.ts";
import { TokenCalls } from "../../../src/objects/registry/token-calls.ts";
import { TrustCalls } from "../../../src/objects/registry/trust-calls.ts";
import type { KnownWebhook } from "../../../src/objects/registry/webhook-calls.ts";
import type {
  AllocationApi,
  AuditFilter,
  CloudWorkerApi,
  EnrollCall,
  LogBucket,
  Objects,
  Past,
  PoolApi,
  RegistryApi,
  RunFilter,
  SignedCall,
  SignedChunk,
  SnapshotStore,
} from "../../../src/objects/rpc.ts";
import { SecretCalls } from "../../../src/objects/secrets/secret-calls.ts";
import { Vault } from "../../../src/objects/secrets/vault.ts";
import type { WebhookApi } from "../../../src/objects/webhooks/api.ts";
import type { AuditEntry } from "../../../src/schema/access/audit.ts";
import { ListedWorker, type PoolConfig, type WorkerStatus } from "../../../src/schema/pool.ts";
import type { RunEvent, RunState, RunStatus } from "../../../src/schema/run/run.ts";
import { projectsServed } from "../../../src/shared/access/project.ts";
import { DroverError } from "../../../src/shared/errors.ts";
import { PAST } from "../../../src/shared/machine.ts";
import { isTerminal, RUN_STATES } from "../../../src/shared/run-state.ts";
import { registryOf as emptyRegistry } from "../../core/support/registry.ts";
import { type FakeJobs, jobOfWorld, listedJobs } from "./fake-jobs.ts";
import { readArrivals, readLog } from "./fake-logs.ts";
import { historyFrom, pastOf } from "./fake-past.ts";
import { isQueuedBehind, QUEUED } from "./queue.ts";
import {
  changed,
  consoleOf,
  deliverySample,
  eventOf,
  listedWorkerOf,
  poolViewOf,
  type RunPatch,
  setupOf,
  statusOf,
  summaryOf,
  webhookSample,
  workerOf,
  workerSummaryOf,
} from "./samples.ts";

/** A run in the fake. `row` is what its pool knows, which may lag or be absent. */
export interface FakeRun {
  status: RunStatus;
  hash: string;
  asks: RequestKey[];
  row: RunStatus | undefined;
  events: RunEvent[];
  /** The log of the latest attempt; then those of the earlier ones. */
  log: Uint8Array;
  earlierLogs: Uint8Array[];
  logEnded: boolean;
  logDropped: number;
}

/** The keys of the answers to hosts, and of what is sealed. */
export const ANSWER_KEY = Buffer.alloc(32, 9).toString("base64");
export const WRAPPING_KEYS = { DROVER_KEK_1: Buffer.alloc(32, 7).toString("base64") };

/** When these objects hand out codes. */
export const INVITED_AT = Date.UTC(2026, 10, 21, 8, 30);
/** Objects in memory that keep the promises of `objects/rpc.ts`, with faults that a test can inject. */
export interface FakeWorld {
  objects: Objects;
  runs: Map<string, FakeRun>;
  pools: Map<string, PoolConfig | undefined>;
  /** Every call, as `kind name method`, in order. */
  calls: string[];
  signedCalls: SignedCall[];
  /** What machines that boot have reported. */
  boots: string[];
  /** Chunks of logs as they arrived, with all their bytes. */
  chunks: (Omit<SignedChunk, "body"> & { bytes: Uint8Array })[];
  /** The content of the bucket. */
  objectsInBucket: Map<string, Uint8Array>;
  /** The existing snapshots, by id. */
  snapshots: Map<string, Uint8Array<ArrayBuffer>>;
  enrolled: EnrollCall[];
  /** The attempts that are to run, whoever asks for them. */
  live: Set<string>;
  tokens: TokenCalls;
  projects: ProjectCalls;
  sessions: SessionCalls;
  secrets: SecretCalls;
  /** What the audit log was told of refused requests. */
  denied: Denied[];
  /** The endpoints of webhooks by name. */
  webhooks: Map<string, KnownWebhook>;
  jobs: FakeJobs;
  /** The entries of the audit log, oldest first. Those without a pool are the registry's. */
  audited: AuditEntry[];
  trust: TrustCalls;
  /** Drover's own keys, sealed with `WRAPPING_KEYS`. */
  keys: KeyCalls;
  backups: BackupCalls;
  /** The workers that self-hosted machines may become. */
  invited: Set<string>;
  /** Workers, by id. Any other id is an idle worker of the pool `default`. */
  workers: Map<string, WorkerStatus>;
  /** Whose machines the pools say that they are; null: nobody's. Others are those of `default`. */
  owners: Map<string, string | null>;
  /** The calls that have changed a worker, as `worker method`. */
  changes: string[];
  /** Called before each call; the call throws what this throws. */
  fault: (call: string) => void;
  /** The longest `waitMs` of the calls so far. */
  longestWaitMs: number;
  /** Adds a stored run, also to its pool. */
  addRun(id: string, over?: RunPatch): FakeRun;
  /** Changes the state of a run, and wakes everything that waits. */
  setState(id: string, state: RunState): void;
  /** Wakes everything that waits, after a test has changed something by hand. */
  wake(): void;
}

/** Makes an empty world with these pools. */
export function createWorld(...pools: string[]): FakeWorld {
  let woken = Promise.withResolvers<void>();
  const world: FakeWorld = {
    objects: {
      allocation: (id) => guarded(world, `allocation ${id}`, allocationOf(world, id, until)),
      worker: (id) => guarded(world, `worker ${id}`, cloudWorkerOf(world, id)),
      pool: (name) => guarded(world, `pool ${name}`, poolOf(world, name, until)),
      webhook: (id) => guarded(world, `webhook ${id}`, webhookOf(world, id)),
      job: (name) =>
        guarded(
          world,
          `job ${name}`,
          jobOfWorld(world.jobs, () => world.objects, name),
        ),
      registry: () => guarded(world, "registry", registryOf(world, until)),
      logs: () => guarded(world, "logs", bucketOf(world)),
      snapshots: () => guarded(world, "snapshots", snapshotsOf(world)),
      nodeArchive: async (file) => (file === "node.tar.xz" ? new Response("an archive").body : null),
    },
    runs: new Map(),
    pools: new Map(pools.map((name) => [name, undefined])),
    calls: [],
    signedCalls: [],
    boots: [],
    chunks: [],
    objectsInBucket: new Map(),
    snapshots: new Map(),
    enrolled: [],
    ...registryTables(),
    denied: [],
    webhooks: new Map(),
    jobs: new Map(),
    audited: [],
    invited: new Set(),
    workers: new Map(),
    owners: new Map(),
    changes: [],
    live: new Set(),
    fault: () => undefined,
    longestWaitMs: 0,
    addRun(id, over = {}) {
      const status = changed(statusOf(id), over);
      const run: FakeRun = {
        status,
        hash: "",
        asks: [],
        row: status,
        events: [],
        log: new Uint8Array(),
        logEnded: false,
        logDropped: 0,
        earlierLogs: [],
      };
      world.runs.set(id, run);
      return run;
    },
    setState(id, state) {
      const run = world.runs.get(id);
      if (run === undefined) throw new Error(`no run ${id} in this world`);
      run.status = changed(run.status, { state, version: run.status.version + 1 });
      run.row = run.status;
      world.wake();
    },
    wake() {
      woken.resolve();
      woken = Promise.withResolvers<void>();
    },
  };

  /** Calls `look` after every change until there is a value or the time is over. */
  async function until<Value>(waitMs: number, look: () => Value | undefined): Promise<Value | undefined> {
    world.longestWaitMs = Math.max(world.longestWaitMs, waitMs);
    const end = new AbortController();
    const over = delay(waitMs, "over", { signal: end.signal }).catch(() => "over");
    try {
      for (;;) {
        const value = look();
        if (value !== undefined) return value;
        if ((await Promise.race([woken.promise, over])) === "over") return undefined;
      }
    } finally {
      end.abort();
    }
  }
  return world;
}

export type Until = <Value>(waitMs: number, look: () => Value | undefined) => Promise<Value | undefined>;

/** Records each call, and lets the test's fault come first. */
function guarded<Api extends object>(world: FakeWorld, name: string, api: Api): Api {
  return new Proxy(api, {
    get(target, method) {
      const call: unknown = Reflect.get(target, method);
      if (typeof call !== "function") return call;
      return async (...args: unknown[]) => {
        const text = `${name} ${String(method)}`;
        world.calls.push(text);
        world.fault(text);
        return call.apply(target, args);
      };
    },
  });
}

function allocationOf(world: FakeWorld, id: string, until: Until): AllocationApi {
  const run = (): FakeRun => {
    const found = world.runs.get(id);
    if (found === undefined) throw new DroverError("unknown_run", `there is no run "${id}"`);
    return found;
  };
  const asked = ({ task = "main" }: { task?: string | undefined }, ask?: RequestKey) => {
    const { asks, status } = run();
    const replayed = asks.some(({ key }) => key === ask?.key);
    if (replayed) return { status, replayed };
    if (task !== "main") throw new DroverError("unknown_task", `There is no task "${task}".`);
    if (isTerminal(status.state)) throw new DroverError("terminal", "The run has ended.");
    if (ask !== undefined) asks.push(ask);
    return { status, replayed };
  };
  return {
    async submit({ spec, hash, project, notAfter }) {
      const existing = notAfter === PAST ? run() : world.runs.get(id);
      if (existing !== undefined) {
        if (existing.hash !== hash) throw new DroverError("run_exists", `Run "${id}" exists already.`);
        return { created: false, status: existing.status };
      }
      const serves = projectsServed(world.pools.get(spec.pool) ?? {}).includes(project);
      if (!world.pools.has(spec.pool) || !serves)
        throw new DroverError("unknown_pool", `there is no pool "${spec.pool}"`);
      const made = world.addRun(id, { spec, project, pool: spec.pool, labels: spec.labels });
      made.hash = hash;
      return { created: true, status: made.status };
    },
    read: async () => run().status,
    async wait(states, waitMs) {
      const look = () => {
        const { status } = run();
        return states === "healthy" || states.includes(status.state) || isTerminal(status.state)
          ? status
          : undefined;
      };
      return (await until(waitMs, look)) ?? run().status;
    },
    async summary(states = [], waitMs = 0) {
      return summaryOf(await this.wait(states, waitMs));
    },
    async abort({ reason, by, waitMs }) {
      const found = run();
      if (!isTerminal(found.status.state)) found.status = changed(found.status, { abort: { reason, by } });
      const look = () => (isTerminal(run().status.state) ? run().status : undefined);
      return (await until(waitMs, look)) ?? run().status;
    },
    async release() {
      run().status = { ...run().status, kept: undefined };
      return run().status;
    },
    redrive: async () => run().status,
    restart: async (request, key) => asked(request, key),
    signal: async (request, key) => asked(request, key),
    tunnel: async () => {
      if (isTerminal(run().status.state)) throw new DroverError("terminal", "The run has ended.");
      return { worker: "w-1", attempt: `${id}/main/1.1` };
    },
    async update({ spec, specIndex }) {
      const found = run();
      if (specIndex !== found.status.specIndex) throw new DroverError("stale_index", "It has changed.");
      found.status = { ...found.status, spec, specIndex: specIndex + 1 };
      return found.status;
    },
    async events(after, waitMs) {
      const ended = () => isTerminal(run().status.state);
      const newer = () => run().events.filter((event) => event.seq > after);
      await until(waitMs, () => newer().length > 0 || ended() || undefined);
      const first = run().events[0]?.seq ?? 1;
      return { items: newer(), dropped: first - 1, ended: ended() };
    },
    stats: async (task) => {
      if (task !== undefined && task !== "main")
        throw new DroverError("unknown_task", `There is no task "${task}".`);
      return { run: id, at: run().status.startedAt, tasks: [], total: null };
    },
    why: async () => ({
      state: run().status.state,
      reason: { code: "queued", text: "it waits" },
      next: { action: "none", at: null },
      chain: [],
    }),
    log: (request) => readLog(run, request, until),
    arrivals: (request) => readArrivals(run, request, until),
    line: async () => {
      run();
      return { attempt: null, stored: 0, from: 0, to: 0, line: 1 };
    },
    storeLog: async () => ({ kind: "unknown" }),
  };
}

function poolOf(world: FakeWorld, name: string, until: Until): PoolApi {
  const rows = ({ ids, states, labels, array, project }: RunFilter) => {
    if (!world.pools.has(name)) throw new DroverError("unknown_pool", `there is no pool "${name}"`);
    return [...world.runs.values()]
      .flatMap(({ row }) => row ?? [])
      .filter((row) => row.pool === name && states.includes(row.state))
      .filter((row) => ids === undefined || ids.includes(row.id))
      .filter((row) => array === undefined || row.spec.array?.id === array)
      .filter((row) => project === undefined || row.project === project)
      .filter((row) => Object.entries(labels).every(([key, value]) => row.labels[key] === value))
      .map(summaryOf)
      .sort((a, b) => (`${a.submittedAt} ${a.id}` < `${b.submittedAt} ${b.id}` ? 1 : -1));
  };
  const audit = auditOf(world, name, until);
  const ownerOf = (worker: string) => {
    const owner = world.owners.get(worker);
    return owner === undefined ? "default" : owner;
  };
  const markOf = () => JSON.stringify(rows({ states: [...RUN_STATES], labels: {} }));
  return {
    ...audit,
    view: async () => {
      if (!world.pools.has(name)) throw new DroverError("unknown_pool", `there is no pool "${name}"`);
      return poolViewOf(name);
    },
    queue: async ({ limit, after }) => {
      if (!world.pools.has(name)) throw new DroverError("unknown_pool", `there is no pool "${name}"`);
      const items = QUEUED.filter((row) => after === undefined || isQueuedBehind(row, after));
      return { items: items.slice(0, limit), queued: QUEUED.length, isLast: items.length <= limit };
    },
    past: async (kind, { since }) => {
      if (!world.pools.has(name)) throw new DroverError("unknown_pool", `there is no pool "${name}"`);
      const past: Past = {
        history: {
          items: historyFrom(world.runs.values(), name),
          next: null,
          completeSince: new Date(since).toISOString(),
        },
        ...pastOf(name, projectsServed(world.pools.get(name) ?? {})),
      };
      return past[kind];
    },
    events: async (after, waitMs) => {
      const isGone = () => !world.pools.has(name);
      const all = [{ number: 7, worker: workerSummaryOf(`${name}-w1`, name) }];
      const items = all.filter((one) => one.number > (after ?? 0));
      let looks = 0;
      if (items.length === 0) await until(waitMs, () => looks++ > 0 || isGone() || undefined);
      if (isGone()) throw new DroverError("unknown_pool", `there is no pool "${name}"`);
      return { items, next: 7 };
    },
    async metrics() {
      if (!world.pools.has(name)) throw new DroverError("unknown_pool", `there is no pool "${name}"`);
      return [{ name: "drover_pool_up", labels: { pool: name }, value: 1 }];
    },
    async forget({ run }) {
      world.runs.delete(run);
    },
    async invite({ ttlMs, keyHash }) {
      if (!world.pools.has(name)) throw new DroverError("unknown_pool", `there is no pool "${name}"`);
      const worker = `${name}-${keyHash ?? "1"}`;
      const replayed = world.invited.has(worker);
      world.invited.add(worker);
      return { worker, code: `drvc_${worker}.1.x`, expiresAt: INVITED_AT + ttlMs, replayed };
    },
    async list(filter, { limit, cursor }) {
      const behind = rows(filter).filter(
        (row) => cursor === undefined || `${row.submittedAt} ${row.id}` < cursor,
      );
      const items = behind.slice(0, limit);
      const last = items.at(-1);
      const more = behind.length > limit && last !== undefined;
      return { items, next: more ? `${last.submittedAt} ${last.id}` : null, mark: markOf() };
    },
    async wait({ ids, states, labels, array, project, all }, waitMs, mark) {
      const which = {
        labels,
        array,
        ...(project === undefined ? {} : { project }),
        ...(ids === undefined ? {} : { ids }),
      };
      const look = () => {
        const others = rows({ ...which, states: RUN_STATES.filter((state) => !states.includes(state)) });
        const open = others.filter(({ state }) => !isTerminal(state)).length;
        return { items: rows({ ...which, states }), open, missed: open < others.length };
      };
      const over = () => {
        if (ids?.some((id) => !world.runs.has(id))) return null;
        if (ids !== undefined && markOf() === mark) return undefined;
        const news = look();
        const isNoneLeft = news.open === 0 && (all || ids !== undefined);
        const isOver = isNoneLeft || (all ? news.missed : news.items.length > 0);
        return isOver ? news : undefined;
      };
      const news = await until(waitMs, over);
      return news === undefined ? look() : news;
    },
    workers: async (states) => {
      const added = [...world.workers.values()].filter(({ pool }) => pool === name);
      const listed = added.map((one) => ListedWorker.parse({ ...one, project: ownerOf(one.id) }));
      return [listedWorkerOf(`${name}-w1`, name), ...listed].filter(({ state }) => states.includes(state));
    },
    ownerOf: async (worker) => ownerOf(worker),
  };
}

function cloudWorkerOf(world: FakeWorld, id: string): CloudWorkerApi {
  const known = async () => {
    if (id === "nobody") throw new DroverError("unknown_worker", `there is no worker "${id}"`);
    return world.workers.get(id) ?? workerOf(id, "default");
  };
  const changing = async (method: string) => {
    world.changes.push(`${id} ${method}`);
    return known();
  };
  return {
    async enroll(call) {
      world.enrolled.push(call);
      return setupOf(id);
    },
    async join(call) {
      world.signedCalls.push(call);
      return { answerKey: ANSWER_KEY, value: setupOf(id) };
    },
    async admit() {
      return { answerKey: ANSWER_KEY, value: null };
    },
    async reportBoot(text) {
      world.boots.push(text);
    },
    async confirmAttempt({ attempt }) {
      if (world.live.has(attempt)) return;
      throw new DroverError("unauthorized", "this is not the request token of an attempt here");
    },
    async secrets(call) {
      world.signedCalls.push(call);
      return { answerKey: ANSWER_KEY, value: { items: [] } };
    },
    async fetch() {
      const refused = { code: "unavailable", message: "no sockets here" };
      return Response.json({ refused }, { status: 503 });
    },
    async report(call, waitMs) {
      world.signedCalls.push(call);
      world.longestWaitMs = Math.max(world.longestWaitMs, waitMs);
      const nothing = { leaseMs: 0, reportWithinMs: 10_000, attempts: [], logs: {}, powerOff: false };
      return { answerKey: ANSWER_KEY, value: { incarnation: 1, revision: 1, answers: 1, ...nothing } };
    },
    read: known,
    why: async () => ({
      state: (await known()).state,
      reason: { code: "idle", text: "it is idle" },
      next: { action: "stop", at: null },
      chain: [],
    }),
    console: async () => consoleOf((await known()).id),
    setBehavior: async (idleBehavior) => ({ ...(await changing("setBehavior")), idleBehavior }),
    kill: () => changing("kill"),
  };
}

function bucketOf(world: FakeWorld): LogBucket {
  return {
    async put({ body, ...chunk }) {
      const bytes = new Uint8Array(await new Response(body).arrayBuffer());
      world.chunks.push({ ...chunk, bytes });
      return chunk.from + bytes.length;
    },
    async get({ key, offset, length }) {
      const bytes = world.objectsInBucket.get(key);
      if (bytes === undefined) throw new Error(`there is no object ${key}`);
      return new Blob([bytes.slice(offset, offset + length)]).stream();
    },
  };
}

function snapshotsOf({ snapshots }: FakeWorld): SnapshotStore {
  const unknown = (id: string) => new DroverError("unknown_snapshot", `there is no snapshot ${id}`);
  return {
    ready: async () => undefined,
    size: async (id) => snapshots.get(id)?.length ?? null,
    async put(id, body) {
      const bytes = new Uint8Array(await new Response(body).arrayBuffer());
      const found = createHash("sha256").update(bytes).digest("hex");
      if (id !== `sha256:${found}`) throw new DroverError("digest_mismatch", `it is ${found}`);
      const created = !snapshots.has(id);
      snapshots.set(id, bytes);
      return { created };
    },
    async get(id, range) {
      const bytes = snapshots.get(id);
      if (bytes === undefined) throw unknown(id);
      const { offset = 0, length = bytes.length } = range ?? {};
      return new Blob([bytes.slice(offset, offset + length)]).stream();
    },
  };
}

/** The audit log of one owner. The number of an entry is its place among all. */
function auditOf(
  world: FakeWorld,
  pool: string | null,
  until: Until,
): Pick<PoolApi & RegistryApi, "audit" | "auditAfter"> {
  const own = ({ by, actions, pools, projects, run }: AuditFilter) =>
    [...world.audited.entries()].filter(
      ([, one]) =>
        (one.target.kind === "pool" || one.pool === null ? null : one.pool) === pool &&
        (by === undefined || `${one.actor.kind}:${one.actor.name}` === by) &&
        (run === undefined || one.run === run) &&
        (pools === undefined || pools.includes(one.pool ?? "")) &&
        (projects === undefined || projects.includes(one.project)) &&
        actions?.includes(one.action) !== false,
    );
  return {
    audit: async (filter, { limit, cursor = "Infinity" }) => {
      const older = own(filter)
        .reverse()
        .filter(([at]) => at < Number(cursor));
      const items = older.slice(0, limit).map(([, one]) => one);
      const next = older.length > limit ? String(older[limit - 1]?.[0]) : null;
      return { items, next, latest: world.audited.length - 1 };
    },
    auditAfter: async (filter, after, waitMs) => {
      const look = () => {
        const items = own(filter).filter(([at]) => at > after);
        return items.length === 0 ? undefined : items.map(([, one]) => one);
      };
      const items = (await until(waitMs, look)) ?? [];
      return { items, next: world.audited.length - 1 };
    },
  };
}

/** The registry's own calls about who may do what, over tables in memory. */
function registryTables(): Pick<
  FakeWorld,
  "tokens" | "projects" | "sessions" | "secrets" | "trust" | "keys" | "backups"
> {
  const vault = new Vault(WRAPPING_KEYS);
  let state = emptyRegistry(null, vault.numbers);
  const registry = {
    now: () => Date.now(),
    enter(event: RegistryEvent = { type: "tick" }) {
      state = registryMachine.apply(state, event, Date.now());
      const { tokens, exchanged, trust, keys, sessions, projects, secrets, dataKeys } = state;
      for (const rows of [tokens, exchanged, trust, keys, sessions, projects, secrets, dataKeys])
        rows.flush();
      return state;
    },
  };
  return {
    tokens: new TokenCalls(registry),
    projects: new ProjectCalls(registry),
    sessions: new SessionCalls(registry),
    secrets: new SecretCalls(registry, vault),
    trust: new TrustCalls(registry),
    keys: new KeyCalls(registry, WRAPPING_KEYS),
    backups: new BackupCalls(registry),
  };
}

function webhookNamed({ webhooks }: FakeWorld, named: Named): KnownWebhook {
  const found = webhooks.get(keyOf(named));
  if (found === undefined) throw new DroverError("unknown_webhook", `there is no webhook "${named.name}"`);
  return found;
}

function webhookOf(world: FakeWorld, id: string): WebhookApi {
  const read = async () => {
    const ref = [...world.webhooks.values()].find((one) => one.id === id);
    if (ref === undefined) throw new DroverError("unknown_webhook", "there is no such webhook");
    return webhookSample(ref);
  };
  return {
    read,
    metrics: async () => [{ name: "drover_webhook_up", labels: { webhook: (await read()).name }, value: 1 }],
    deliveries: async () => ({ items: [deliverySample(id)], next: null }),
    test: async () => deliverySample(id),
    replay: async ({ ids }) => ids?.length ?? null,
    disable: read,
    enable: read,
  };
}

function registryOf(world: FakeWorld, until: Until): RegistryApi {
  return {
    async putPool(name, sent, { project }) {
      const created = !world.pools.has(name);
      const config = withProject(sent, project);
      // The real object keeps the secret of an existing pool, and refuses a new pool without one.
      const full = withSecret(config, world.pools.get(name), project ?? "default");
      if (full !== undefined) world.pools.set(name, full);
      return { created, view: poolViewOf(name) };
    },
    async removePool(name, how, { project }) {
      const served = projectsServed(world.pools.get(name) ?? {});
      if (!world.pools.has(name) || (project !== null && !served.includes(project)))
        throw new DroverError("unknown_pool", `there is no pool "${name}"`);
      return { name, deleted: how === "empty" && world.pools.delete(name) };
    },
    pools: async () =>
      [...world.pools]
        .map(([name, config]) => ({ name, projects: projectsServed(config ?? {}) }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    createProject: async (...args) => world.projects.create(...args),
    removeProject: async (...args) => world.projects.remove(...args),
    projects: async () => world.projects.list(),
    createToken: async (...args) => world.tokens.create(...args),
    rotateToken: async (...args) => world.tokens.rotate(...args),
    revokeToken: async (...args) => world.tokens.revoke(...args),
    tokens: async (project) => world.tokens.list(project),
    token: async (id) => world.tokens.read(id),
    grant: async (...args) => world.tokens.grant(...args),
    accessBackup: async () => world.backups.read(),
    restoreAccess: async (...args) => world.backups.restore(...args),
    offerSession: async (...args) => world.sessions.offer(...args),
    redeemSession: async (...args) => world.sessions.redeem(...args),
    startSession: async (...args) => world.sessions.start(...args),
    sessionGrant: async (...args) => world.sessions.grant(...args),
    sessions: async (project) => world.sessions.list(project),
    endSession: async (...args) => world.sessions.end(...args),
    async createWebhook(ref, _secret, createdBy) {
      world.webhooks.set(keyOf(ref), { ...ref, createdAt: INVITED_AT, createdBy });
    },
    async changeWebhook(named, fields) {
      const ref = webhookNamed(world, named);
      world.webhooks.set(keyOf(named), { ...ref, fields });
      return ref.id;
    },
    rotateWebhook: async (named) => webhookNamed(world, named).id,
    async removeWebhook(named) {
      world.webhooks.delete(keyOf(webhookNamed(world, named)));
    },
    webhook: async (named) => webhookNamed(world, named),
    webhooks: async (project) =>
      [...world.webhooks.values()].filter((ref) => project === null || ref.project === project),
    admitJob: async () => undefined,
    refuseFollowedJob: async () => undefined,
    jobs: async (project) => listedJobs(world.jobs, project),
    jobCounts: async () => [],
    ...auditOf(world, null, until),
    setSecret: async (...args) => world.secrets.set(...args),
    removeSecret: async (...args) => world.secrets.remove(...args),
    secrets: async (project) => world.secrets.list(project),
    missingSecrets: async (...args) => world.secrets.missing(...args),
    putTrustRule: async (...args) => world.trust.put(...args),
    removeTrustRule: async (...args) => world.trust.remove(...args),
    trustRules: async (project) => world.trust.list(project),
    trustRule: async (...args) => world.trust.read(...args),
    trustRulesOf: async (...args) => world.trust.of(...args),
    signingKeys: () => world.keys.keys(),
    replaceSigningKeys: (by) => world.keys.replace(by),
    exchange: async (...args) => world.trust.exchange(...args),
    noteDenied: async (denied) => void world.denied.push(denied),
    poke: async () => undefined,
  };
}

/** Gives a run `count` events, numbered from `first`. */
export function addEvents(run: FakeRun, count: number, first = 1): void {
  for (let seq = first; seq < first + count; seq += 1) run.events.push(eventOf(seq));
}
