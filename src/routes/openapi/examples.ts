import { ARCHIVE, BUILD, HOST, LAB, SHARDS, SITE, SNAPSHOT } from "./example-bodies.ts";

/**
 * A request as somebody could send it. The document shows it, with the answer in `example-answers.json`, and
 * a test sends it.
 */
export interface Example {
  operation: string;
  /** Tells it from others of the operation. */
  name: string;
  summary: string;
  /** Parts of the path, the query, and headers, by name. */
  params?: Record<string, string | number | string[]>;
  body?: unknown;
  status: number;
  /**
   * What is another one on each Drover: the name of a parameter, or a pointer into the body, and where it
   * stands in the answer to an earlier example, as `operation/name#pointer`.
   */
  live?: Record<string, string>;
  /** It depends on what happens meanwhile: it is sent again until it is answered so, and has this. */
  until?: string;
  /** The answer is too long to be shown. */
  unshown?: boolean;
}

const WORKER = { id: "listWorkers/all#/items/0/id" };
const OWN_WORKER = { worker: "createEnrollment/one#/worker" };
const A_WORKER = { id: "default-w1" };
const AN_OWN_WORKER = { worker: "lab-w1" };

/** In the order in which they can be sent to a new Drover, of which some go on with what others have made. */
export const EXAMPLES: readonly Example[] = [
  { operation: "getHealth", name: "alive", summary: "Is it there?", status: 200 },
  { operation: "getReadiness", name: "ready", summary: "Can it serve?", status: 200 },
  {
    operation: "getProof",
    name: "local",
    summary: "Is it this one?",
    params: { nonce: "c2VudGJ5YWNsaWVudG9mZHJvdmVy" },
    status: 200,
  },
  { operation: "getOpenApi", name: "document", summary: "This document", status: 200, unshown: true },
  { operation: "getHome", name: "home", summary: "The bare address", status: 302, unshown: true },
  { operation: "getReference", name: "page", summary: "This page", status: 200 },
  {
    operation: "getReferenceFile",
    name: "start",
    summary: "The script that draws it",
    params: { file: "start.js" },
    status: 200,
  },
  { operation: "getAgent", name: "agent", summary: "The agent", status: 200 },
  { operation: "getAgentDigest", name: "digest", summary: "Its digest", status: 200 },
  { operation: "getInstaller", name: "script", summary: "The installer", status: 200 },
  { operation: "getInstallerDigest", name: "digest", summary: "Its digest", status: 200 },
  {
    operation: "putPool",
    name: "create",
    summary: "A pool that self-hosted machines will join",
    params: { name: "lab" },
    body: LAB,
    status: 201,
  },
  {
    operation: "putPool",
    name: "change",
    summary: "It may have longer queues",
    params: { name: "lab" },
    body: { ...LAB, maxQueue: 20_000 },
    status: 200,
  },
  { operation: "listPools", name: "all", summary: "All pools", status: 200 },
  { operation: "getPool", name: "one", summary: "One pool", params: { name: "lab" }, status: 200 },
  {
    operation: "putSnapshot",
    name: "first",
    summary: "Store the files that runs begin with",
    params: SNAPSHOT,
    body: ARCHIVE,
    status: 201,
  },
  { operation: "getSnapshot", name: "whole", summary: "And back", params: SNAPSHOT, status: 200 },
  {
    operation: "getSnapshot",
    name: "part",
    summary: "The bytes of a range",
    params: { ...SNAPSHOT, range: "bytes=6-10" },
    status: 206,
  },
  { operation: "submitRuns", name: "command", summary: "One command", body: BUILD, status: 201 },
  {
    operation: "submitRuns",
    name: "again",
    summary: "The same again: nothing new",
    body: BUILD,
    status: 200,
  },
  {
    operation: "submitRuns",
    name: "group",
    summary: "A group of tasks on one machine",
    body: SITE,
    status: 201,
  },
  { operation: "submitRuns", name: "batch", summary: "Several at once", body: SHARDS, status: 201 },
  {
    operation: "submitRuns",
    name: "keyed",
    summary: "Under a key in place of an id: sent again it finds the same run",
    params: { "idempotency-key": "nightly-2026-11-21" },
    body: { argv: ["make", "report"], pool: "lab" },
    status: 201,
  },
  {
    operation: "listQueue",
    name: "lab",
    summary: "What waits in a pool, and why",
    params: { name: "lab", limit: 10 },
    status: 200,
  },
  {
    operation: "submitRuns",
    name: "refused",
    summary: "A pool that is not there",
    body: { argv: ["true"], pool: "nowhere" },
    status: 404,
  },
  {
    operation: "getRun",
    name: "running",
    summary: "Wait until it runs",
    params: { id: "build-17", wait: "30s", state: ["running"] },
    status: 200,
    until: "/startedAt",
  },
  { operation: "getRun", name: "unknown", summary: "There is none", params: { id: "nobody" }, status: 404 },
  {
    operation: "listRuns",
    name: "label",
    summary: "Those of a label that have ended; wait until one has",
    params: { label: ["set:nightly"], state: ["done"], wait: "30s", limit: 10 },
    status: 200,
    until: "/items/1",
  },
  {
    operation: "queryRuns",
    name: "ids",
    summary: "Two runs, in this order, as soon as one has ended",
    body: { runs: ["shard-1", "shard-2"], states: ["done"], wait: "30s" },
    status: 200,
  },
  {
    operation: "explainRun",
    name: "running",
    summary: "Why it runs",
    params: { id: "build-17" },
    status: 200,
  },
  {
    operation: "listRunEvents",
    name: "all",
    summary: "All that has happened to it",
    params: { id: "build-17", after: "0" },
    status: 200,
  },
  {
    operation: "getRunStats",
    name: "task",
    summary: "What its only task uses",
    params: { id: "build-17", task: "main" },
    status: 200,
    until: "/total",
  },
  {
    operation: "getRunLog",
    name: "tail",
    summary: "The last 64 KiB of it",
    params: { id: "build-17", task: "main", stream: "stdout", tail: "64KiB" },
    status: 200,
  },
  {
    operation: "getRunLog",
    name: "range",
    summary: "From the fourth byte on",
    params: { id: "build-17", task: "main", stream: "stdout", range: "bytes=3-" },
    status: 206,
    until: "",
  },
  {
    operation: "updateRun",
    name: "priority",
    summary: "Another priority",
    params: { id: "build-17" },
    body: { specIndex: 1, spec: { ...BUILD, priority: 80 } },
    status: 200,
  },
  {
    operation: "restartRun",
    name: "task",
    summary: "Start its task again, once",
    params: { id: "build-17", "idempotency-key": "restart-1" },
    body: { task: "main" },
    status: 200,
  },
  {
    operation: "signalRun",
    name: "reload",
    summary: "Tell the web server to end",
    params: { id: "site-3", "idempotency-key": "end-1" },
    body: { task: "web", signal: "SIGTERM" },
    status: 200,
    until: "",
  },
  {
    operation: "abortRun",
    name: "wait",
    summary: "Stop it, and hear the end",
    params: { id: "build-17", wait: "30s" },
    body: { reason: "wrong branch" },
    status: 200,
  },
  {
    operation: "abortRuns",
    name: "label",
    summary: "Stop all that have a label, and have not ended",
    body: { labels: { set: "nightly" }, reason: "too slow" },
    status: 200,
  },
  {
    operation: "deleteRun",
    name: "ended",
    summary: "Forget a run that has ended",
    params: { id: "shard-1" },
    status: 204,
    until: "",
  },
  {
    operation: "listPoolEvents",
    name: "living",
    summary: "All that lives in a pool",
    params: { pool: "default" },
    status: 200,
  },
  {
    operation: "listWorkers",
    name: "all",
    summary: "All workers of a pool",
    params: { pool: "default", state: ["idle", "running"] },
    status: 200,
    until: "/items/0",
  },
  { operation: "getWorker", name: "one", summary: "One", params: A_WORKER, live: WORKER, status: 200 },
  { operation: "explainWorker", name: "one", summary: "Why", params: A_WORKER, live: WORKER, status: 200 },
  { operation: "holdWorker", name: "hold", summary: "Keep it", params: A_WORKER, live: WORKER, status: 200 },
  {
    operation: "resumeWorker",
    name: "resume",
    summary: "Go on",
    params: A_WORKER,
    live: WORKER,
    status: 200,
  },
  {
    operation: "drainWorker",
    name: "drain",
    summary: "Stop then",
    params: A_WORKER,
    live: WORKER,
    status: 200,
  },
  {
    operation: "killWorker",
    name: "now",
    summary: "Destroy it",
    params: A_WORKER,
    body: { reason: "it misbehaves" },
    live: WORKER,
    status: 200,
  },
  {
    operation: "killWorker",
    name: "force",
    summary: "Wait for no listing of its provider, and learn what may be left there",
    params: A_WORKER,
    body: { force: true },
    live: WORKER,
    status: 200,
  },
  {
    operation: "createEnrollment",
    name: "one",
    summary: "A machine may join within an hour",
    params: { "idempotency-key": "lab-machine-1" },
    body: { pool: "lab", ttl: "1h" },
    status: 201,
  },
  {
    operation: "enrollHost",
    name: "first",
    summary: "With the code, which signs this, and a salt of its own",
    body: {
      ...HOST,
      salt: "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",
    },
    status: 200,
  },
  {
    operation: "greetHost",
    name: "first",
    summary: "On a new connection to this machine",
    params: AN_OWN_WORKER,
    live: OWN_WORKER,
    status: 200,
  },
  {
    operation: "joinHost",
    name: "start",
    summary: "The agent was started again",
    params: AN_OWN_WORKER,
    body: { start: "5f0d4f8e-3b1c-4e6f-9a53-6f1f4a0b7c22", bootId: HOST.bootId },
    live: OWN_WORKER,
    status: 200,
  },
  {
    operation: "reportHost",
    name: "first",
    summary: "It can work, and has nothing yet",
    params: { ...AN_OWN_WORKER, wait: "1s" },
    body: {
      incarnation: 2,
      seq: 1,
      full: true,
      ordersSeen: 0,
      boot: { ok: true, output: "" },
      attempts: [],
      resources: HOST.resources,
    },
    live: { ...OWN_WORKER, "/incarnation": "joinHost/start#/incarnation" },
    status: 200,
    until: "/attempts/0",
  },
  {
    operation: "putHostLog",
    name: "first",
    summary: "The first bytes of an attempt",
    params: { ...AN_OWN_WORKER, attempt: "lab-run/main/1.1", stream: "stdout", offset: 0 },
    body: "making the report\n",
    live: { ...OWN_WORKER, attempt: "reportHost/first#/attempts/0/id" },
    status: 200,
  },
  {
    operation: "putHostSnapshot",
    name: "result",
    summary: "The result of a run",
    params: { ...AN_OWN_WORKER, ...SNAPSHOT },
    body: ARCHIVE,
    live: OWN_WORKER,
    status: 200,
  },
  {
    operation: "getHostSnapshot",
    name: "rest",
    summary: "What a run begins with, gone on with after a cut",
    params: { ...AN_OWN_WORKER, ...SNAPSHOT, range: "bytes=6-" },
    live: OWN_WORKER,
    status: 206,
  },
  {
    operation: "openHostSocket",
    name: "plain",
    summary: "It takes a WebSocket, and says so",
    params: AN_OWN_WORKER,
    live: OWN_WORKER,
    status: 426,
  },
  { operation: "getMetrics", name: "pool", summary: "Of one pool", params: { pool: ["lab"] }, status: 200 },
  {
    operation: "deletePool",
    name: "drain",
    summary: "As soon as it is empty",
    params: { name: "lab", drain: "1" },
    status: 200,
  },
  {
    operation: "deletePool",
    name: "force",
    summary: "Kill its runs and machines, and learn what may be left",
    params: { name: "lab", force: "1" },
    status: 200,
  },
];
