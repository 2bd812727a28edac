import { expect } from "vitest";
import type { as } from "./callers.ts";
import type { Edge, Json } from "./edge.ts";

// What can be called with something of others, and what must be answered? One table for all walls
// (access.md#walls, projects.md#callers). An operation of the document that is missing here fails a test.

/** The kinds of things that can be another's. */
export type Kind = "run" | "pool" | "worker" | "token" | "session" | "webhook" | "secret" | "trust" | "job";

/** A request that names a thing. `id`: the thing's. */
export interface ForeignCall {
  operation: string;
  kind: Kind;
  /** The request, for the title of a test. */
  request: string;
  method: string;
  path: (id: string) => string;
  body: ((id: string) => Json) | undefined;
  /** What a caller who has the scope sees, as for a thing that nobody has: this code, or this status. */
  expected: string | number;
}

/** Unless a call says otherwise: what is not there is answered so. */
const CODE_OF: Record<Kind, string | number> = {
  run: "unknown_run",
  pool: "unknown_pool",
  worker: "unknown_worker",
  token: "unknown_token",
  // The end of a session that is not there is harmless to ask for (sessions.md).
  session: 204,
  webhook: "unknown_webhook",
  secret: "unknown_secret",
  trust: "unknown_trust_rule",
  job: "unknown_job",
};

/** An operation, the request with `ID` for the thing, its body, and what else is to be expected. */
type Line = [operation: string, request: string, body?: Json, expected?: string | number];

const HOOK = { url: "https://ci.example.com/hook" };
const RUN = { argv: ["true"] };

const LINES: Record<Kind, Line[]> = {
  run: [
    ["getRun", "GET /v1/runs/ID"],
    ["getRun", "GET /v1/runs/ID?wait=10ms&state=done"],
    ["listRuns", "GET /v1/runs?id=ID"],
    ["listRuns", "GET /v1/runs?id=ID&all=1&state=done&wait=10ms"],
    ["queryRuns", "POST /v1/runs/query", { runs: ["ID"] }],
    ["queryRuns", "POST /v1/runs/query", { runs: ["ID"], all: true, wait: "10ms" }],
    ["explainRun", "GET /v1/runs/ID/why"],
    ["getRunStats", "GET /v1/runs/ID/stats"],
    ["listRunEvents", "GET /v1/runs/ID/events"],
    ["listRunEvents", "GET /v1/runs/ID/events?after=0&wait=10ms"],
    ["getLogArrivals", "GET /v1/runs/ID/logs/main"],
    ["getLogLine", "GET /v1/runs/ID/logs/main/stdout/lines"],
    ["getRunLog", "GET /v1/runs/ID/logs/main/stdout"],
    ["getRunLog", "GET /v1/runs/ID/logs/main/stdout?follow=1"],
    ["abortRun", "POST /v1/runs/ID/abort", {}],
    ["abortRun", "POST /v1/runs/ID/abort", { force: true }],
    ["abortRuns", "POST /v1/runs/abort", { ids: ["ID"] }],
    ["releaseRun", "POST /v1/runs/ID/release"],
    ["redriveRun", "POST /v1/runs/ID/redrive"],
    ["restartRun", "POST /v1/runs/ID/restart", {}],
    ["signalRun", "POST /v1/runs/ID/signal", { signal: "SIGHUP" }],
    ["openTunnel", "GET /v1/runs/ID/tunnels/t-1f6a9c02?kind=exec"],
    ["updateRun", "PATCH /v1/runs/ID", { spec: RUN, specIndex: 1 }],
    ["deleteRun", "DELETE /v1/runs/ID"],
    ["deleteRun", "DELETE /v1/runs/ID?force=1"],
    ["listAudit", "GET /v1/audit?within=run:ID", undefined, 200],
    ["listAudit", "GET /v1/audit?target=ID", undefined, 200],
  ],
  pool: [
    ["submitRuns", "POST /v1/runs", { ...RUN, pool: "ID" }],
    ["submitRuns", "POST /v1/runs", { runs: [{ ...RUN, pool: "ID" }] }],
    ["listRuns", "GET /v1/runs?pool=ID"],
    ["listRuns", "GET /v1/runs?pool=ID&all=1&state=done&wait=10ms"],
    ["abortRuns", "POST /v1/runs/abort", { pool: "ID" }],
    ["listPoolEvents", "GET /v1/events?pool=ID"],
    ["listPoolEvents", "GET /v1/events?pool=ID&after=0&wait=10ms"],
    ["getPool", "GET /v1/pools/ID"],
    ["listPoolSamples", "GET /v1/pools/ID/samples"],
    ["listPoolTallies", "GET /v1/pools/ID/tallies"],
    ["listGoneWorkers", "GET /v1/pools/ID/gone-workers"],
    ["deletePool", "DELETE /v1/pools/ID"],
    ["deletePool", "DELETE /v1/pools/ID?drain=1"],
    ["deletePool", "DELETE /v1/pools/ID?force=1"],
    ["listQueue", "GET /v1/pools/ID/queue"],
    ["getPoolHistory", "GET /v1/pools/ID/history"],
    ["listWorkers", "GET /v1/workers?pool=ID"],
    ["createEnrollment", "POST /v1/enrollments", { pool: "ID" }],
    ["getMetrics", "GET /metrics?pool=ID"],
    ["listAudit", "GET /v1/audit?pool=ID", undefined, 200],
    ["listAudit", "GET /v1/audit?target=ID", undefined, 200],
  ],
  worker: [
    ["getWorker", "GET /v1/workers/ID"],
    ["explainWorker", "GET /v1/workers/ID/why"],
    ["getWorkerConsole", "GET /v1/workers/ID/console"],
    ["holdWorker", "POST /v1/workers/ID/hold", {}],
    ["drainWorker", "POST /v1/workers/ID/drain", {}],
    ["resumeWorker", "POST /v1/workers/ID/resume", {}],
    ["killWorker", "POST /v1/workers/ID/kill", {}],
    ["killWorker", "POST /v1/workers/ID/kill", { force: true }],
    ["listAudit", "GET /v1/audit?target=ID", undefined, 200],
  ],
  token: [
    ["getToken", "GET /v1/tokens/ID"],
    ["rotateToken", "POST /v1/tokens/ID/rotate", {}],
    ["revokeToken", "DELETE /v1/tokens/ID"],
    ["revokeToken", "DELETE /v1/tokens/ID?children=1"],
    ["listAudit", "GET /v1/audit?target=ID", undefined, 200],
  ],
  session: [["endSession", "DELETE /v1/sessions/ID"]],
  webhook: [
    ["getWebhook", "GET /v1/webhooks/ID"],
    ["putWebhook", "PUT /v1/webhooks/ID", HOOK],
    ["rotateWebhook", "POST /v1/webhooks/ID/rotate", {}],
    ["disableWebhook", "POST /v1/webhooks/ID/disable"],
    ["enableWebhook", "POST /v1/webhooks/ID/enable", {}],
    ["listDeliveries", "GET /v1/webhooks/ID/deliveries"],
    ["testWebhook", "POST /v1/webhooks/ID/test"],
    ["replayDeliveries", "POST /v1/webhooks/ID/replay", { ids: ["msg_1"] }],
    ["deleteWebhook", "DELETE /v1/webhooks/ID"],
  ],
  secret: [
    ["deleteSecret", "DELETE /v1/secrets/ID"],
    ["submitRuns", "POST /v1/runs", { ...RUN, pool: "both", secrets: { K: { secret: "ID" } } }],
  ],
  trust: [
    ["getTrustRule", "GET /v1/trust-rules/ID"],
    ["deleteTrustRule", "DELETE /v1/trust-rules/ID"],
  ],
  job: [
    ["getJob", "GET /v1/jobs/ID"],
    ["listJobVersions", "GET /v1/jobs/ID/versions"],
    ["listJobTicks", "GET /v1/jobs/ID/ticks"],
    ["triggerJob", "POST /v1/jobs/ID/trigger", {}],
    ["redriveJob", "POST /v1/jobs/ID/redrive", { all: true }],
    ["redriveJob", "POST /v1/jobs/ID/redrive", { runs: ["a"] }],
    ["pauseJob", "POST /v1/jobs/ID/pause"],
    ["resumeJob", "POST /v1/jobs/ID/resume", {}],
    ["deleteJob", "DELETE /v1/jobs/ID"],
    ["listAudit", "GET /v1/audit?target=ID", undefined, 200],
  ],
};

/**
 * What lists things without a name of one, asked for as much as there is. What is another's is in no answer.
 */
export const LISTS: [operation: string, path: string][] = [
  ["listRuns", "/v1/runs?state=all&limit=1000"],
  ["listRuns", "/v1/runs?state=all&all=1&wait=0"],
  ["listPools", "/v1/pools"],
  ["listWorkers", "/v1/workers"],
  ["listAudit", "/v1/audit?limit=1000"],
  ["listAudit", "/v1/audit?action=run&limit=1000"],
  ["getMetrics", "/metrics"],
  ["listTokens", "/v1/tokens"],
  ["listSessions", "/v1/sessions"],
  ["listWebhooks", "/v1/webhooks"],
  ["listSecrets", "/v1/secrets"],
  ["listTrustRules", "/v1/trust-rules"],
  ["listJobs", "/v1/jobs"],
];

/** Operations with which nobody reaches what is another's, with the reason. */
const HARMLESS: Record<string, string> = {
  getBackup: "needs `admin`, which is limited to nothing",
  restoreBackup: "needs `admin`, which is limited to nothing",
  getDeployment: "needs `admin`, and is about the control plane alone",
  createToken: "makes a thing of the caller's own project",
  createWebhook: "makes a thing of the caller's own project, and follows the pools that serve it",
  putSecret: "names are each project's own, so it makes or replaces the caller's",
  putTrustRule: "names are each project's own, so it makes or replaces the caller's",
  putPool: "names are of the whole Drover, so it says that a name is taken (projects.md)",
  putJob: "names are each project's own, so it says that a name is taken (access.md#limits)",
  previewJob: "is about what is sent, and stores nothing",
  createSessionCode: "is about the caller",
  getCaller: "is about the caller",
  createProject: "is of the whole Drover, and takes projects:write",
  listProjects: "is of the whole Drover, and takes projects:write",
  deleteProject: "is of the whole Drover, and takes projects:write",
  replaceIssuerKeys: "is of the whole Drover, and takes the break-glass secret",
  putSnapshot: "snapshots are named by their digest (access.md#ids)",
  getSnapshot: "snapshots are named by their digest (access.md#ids)",
};

function callOf(kind: Kind, [operation, request, body, expected = CODE_OF[kind]]: Line): ForeignCall {
  const [method = "", path = ""] = request.split(" ");
  const named = (text: string, id: string) => text.replaceAll("ID", id);
  return {
    operation,
    kind,
    request: `${request}${body === undefined ? "" : ` ${JSON.stringify(body)}`}`,
    method,
    path: (id) => named(path, id),
    body: body === undefined ? undefined : (id) => JSON.parse(named(JSON.stringify(body), id)),
    expected,
  };
}

/** Every call that names a thing which can be another's. */
export const FOREIGN_CALLS: readonly ForeignCall[] = Object.entries(LINES).flatMap(([kind, lines]) =>
  // Keys of a record are its own kinds.
  lines.map((line) => callOf(kind as Kind, line)),
);

/** An id or a name of each kind that nobody has. */
const NOBODY: Record<Kind, string> = {
  run: "no-such-run",
  pool: "nowhere",
  worker: "nobody",
  token: "0123456789",
  session: "0123456789",
  webhook: "nothing",
  secret: "nothing",
  trust: "nothing",
  job: "nothing",
};

/** Every operation that a token may call, from the document, with the scope that it takes. */
export async function operationsOf(edge: Edge): Promise<Map<string, string>> {
  const { paths } = await edge.json(200, "GET", "/openapi.json");
  const all = Object.values<Json>(paths).flatMap(({ head: _bodyless, ...methods }) =>
    Object.values<Json>(methods),
  );
  const callable = all.filter(({ security }) => security.some((one: Json) => "bearer" in one));
  return new Map(callable.map((one) => [one.operationId, one["x-drover-access"]]));
}

/** The operations that are missing in this table, are in it twice, or have gone from the document. */
export async function faultsOfTable(edge: Edge): Promise<string[]> {
  const documented = await operationsOf(edge);
  const tried = new Set([...FOREIGN_CALLS.map(({ operation }) => operation), ...LISTS.map(([name]) => name)]);
  const harmless = Object.keys(HARMLESS);
  const missing = [...documented.keys()].filter((name) => !tried.has(name) && !harmless.includes(name));
  const gone = [...tried, ...harmless].filter((name) => !documented.has(name));
  const twice = harmless.filter((name) => tried.has(name));
  return [
    ...missing.map((name) => `${name} is missing: what does it answer about a thing of others?`),
    ...gone.map((name) => `${name} is no operation`),
    ...twice.map((name) => `${name} is both tried and called harmless`),
  ];
}

/** All that calls may change in a world, as a text. */
function stateOf({
  runs,
  pools,
  tokens,
  secrets,
  trust,
  sessions,
  webhooks,
  jobs,
  invited,
  changes,
}: Edge): string {
  const statuses = [...runs].map(([id, { status, row }]) => [id, status, row]);
  const things = [secrets.list(null), trust.list(null), sessions.list(null), [...webhooks], [...jobs.keys()]];
  // The day of its last use is what any call of a token changes.
  const known = tokens.list(null).map((token) => ({ ...token, lastUsedOn: null }));
  return JSON.stringify([statuses, [...pools], known, things, [...invited], changes]);
}

/**
 * Asks for a thing of others, by GET also for its head and as a stream. Expects the answer for a thing that
 * does not exist, in the same words, and that nothing has changed.
 */
export async function expectNobody(
  edge: Edge,
  caller: ReturnType<typeof as>,
  call: ForeignCall,
  {
    theirs,
    expected,
    nobody = NOBODY[call.kind],
  }: { theirs: string; expected: string | number; nobody?: string },
): Promise<void> {
  const ask = async (id: string) => {
    const answer = await caller.send(call.method, call.path(id), call.body?.(id));
    const text = await answer.text();
    const { instance: _, follow: _position, ...body }: Json = text === "" ? {} : JSON.parse(text);
    return { status: answer.status, body };
  };
  const known = await ask(nobody);
  expect(typeof expected === "number" ? known.status : known.body.code).toBe(expected);
  if (call.expected === 200 && expected === 200) expect(known.body.items).toEqual([]);
  const before = stateOf(edge);
  const found = await ask(theirs);
  expect(JSON.parse(JSON.stringify(found).replaceAll(theirs, nobody))).toEqual(known);
  expect(stateOf(edge)).toBe(before);
  if (call.method !== "GET") return;
  const stream = { accept: "text/event-stream" };
  expect((await caller.send("GET", call.path(theirs), undefined, stream)).status).toBe(known.status);
  const heads = [theirs, nobody].map((id) => caller.send("HEAD", call.path(id)));
  expect((await Promise.all(heads)).map(({ status }) => status)).toEqual([known.status, known.status]);
}
