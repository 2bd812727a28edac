import { makeSalt } from "../../../agent/plane/sign.ts";
import type { Json } from "../../edge/support/edge.ts";
import type { HttpHost } from "../../edge/support/http-host.ts";
import { HOSTS, QUEUE, type World } from "./world.ts";

const argv = ["true"];
/** Nobody listens there. */
const RECEIVER = "https://receiver.example/hook";
const short = { argv, pool: QUEUE };
const group = {
  pool: QUEUE,
  tasks: [
    {
      name: "side",
      argv,
      lifecycle: { hook: "prestart", sidecar: true },
      driver: "fake",
      fake: { runFor: "1s", startError: { text: "no" } },
    },
    { name: "main", argv },
  ],
};
const salt = makeSalt();

/** A pool whose provider does not exist. */
const config = {
  provider: { kind: "http", url: "http://127.0.0.1:9", secret: "none" },
  instanceTypes: { small: { vcpus: 2, memory: "2GiB" } },
  maxInstances: 2,
};

const attemptReport = {
  id: "nobody/main/1.1",
  state: "exited",
  exit: { code: 0, signal: null, oomKilled: false, message: "" },
  log: { stdout: { from: 0, size: 0 }, stderr: { from: 0, size: 0 } },
};

function report({ worker, incarnation, seq }: HttpHost): Json {
  return {
    worker,
    incarnation,
    seq,
    full: true,
    ordersSeen: 0,
    attempts: [attemptReport],
    stale: [{ run: "nobody", holder: "a lock" }],
  };
}

/** Valid bodies for each operation that takes one; of several, the one with the changed place is used. */
export const BASES: Record<string, (world: World, speaker: HttpHost) => Json[]> = {
  "POST /v1/runs": () => [short, group, { runs: [short] }, { runs: [group] }],
  "POST /v1/runs/query": () => [{ runs: ["held"], states: ["all"], wait: "0" }],
  "POST /v1/runs/abort": () => [{ labels: { team: "x" }, pool: QUEUE, reason: "enough", limit: 10 }],
  "PATCH /v1/runs/{id}": () => [
    { specIndex: 1, spec: short },
    { specIndex: 1, spec: group },
  ],
  "POST /v1/runs/{id}/abort": () => [{ reason: "enough" }],
  "POST /v1/runs/{id}/restart": () => [{ task: "main" }, { all: true }],
  "POST /v1/runs/{id}/signal": () => [{ task: "main", signal: "SIGHUP" }],
  "PUT /v1/pools/{name}": () => [config],
  "POST /v1/workers/{id}/kill": () => [{ reason: "enough" }],
  "POST /v1/tokens": () => [
    {
      name: `fuzz-${crypto.randomUUID().slice(0, 8)}`,
      preset: "viewer",
      scopes: ["enroll"],
      expiresIn: "1h",
    },
    {
      name: `fuzz-${crypto.randomUUID().slice(0, 8)}`,
      preset: "submitter",
      limits: { pools: [QUEUE], labels: { team: "x" }, maxPriority: 50, sources: ["10.0.0.0/8"] },
    },
  ],
  "PUT /v1/trust-rules/{name}": () => [
    {
      issuer: "https://ci.example.com/a",
      audience: "drover",
      claims: { project: "7", ref: "main*" },
      preset: "submitter",
      scopes: ["runs:env"],
      limits: { maxPriority: 50 },
      labels: { project: "project" },
      lifetime: "30m",
    },
  ],
  // Each item is judged by itself: one that lacks a field is refused for that.
  "POST /v1/restore": () => [
    {
      madeAt: new Date().toISOString(),
      tokens: [{ name: "laptop", project: "default" }],
      trustRules: [{ name: "ci", project: "default" }],
      dryRun: true,
    },
  ],
  "POST /v1/projects": () => [{ name: `fuzz-${crypto.randomUUID().slice(0, 8)}` }],
  "POST /v1/oidc/exchange": () => [
    { token: "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2NpLmV4YW1wbGUuY29tL2IifQ.AAAA", rule: "ci" },
  ],
  "PUT /v1/secrets/{name}": () => [{ value: "a value" }, { base64: "AAEC" }],
  "POST /v1/tokens/{id}/rotate": () => [{ overlap: "1h" }],
  "POST /ui/session": ({ server, secrets }) => [
    { token: server.token },
    { token: secrets.viewer },
    { code: "drvc_012345678901234567890123456789012345678901234567" },
    { token: "drv_012345678901234567890123456789012345678901234567" },
  ],
  "POST /v1/webhooks": () => [
    { name: `fuzz-${crypto.randomUUID().slice(0, 8)}`, url: RECEIVER, types: ["run.failed"] },
    { name: `fuzz-${crypto.randomUUID().slice(0, 8)}`, url: RECEIVER, pools: [QUEUE], labels: { team: "x" } },
  ],
  "PUT /v1/webhooks/{name}": () => [{ url: RECEIVER, types: ["run.updated", "run.completed"] }],
  "POST /v1/webhooks/{name}/rotate": () => [{ overlap: "1h" }],
  "POST /v1/webhooks/{name}/enable": () => [{ from: "now" }, { from: "2d" }],
  "POST /v1/webhooks/{name}/replay": () => [
    { ids: ["msg_1"] },
    { since: "2026-11-24T10:00:00Z", until: "2026-11-24T11:00:00Z", all: true },
  ],
  "POST /v1/enrollments": () => [{ pool: HOSTS, ttl: "1h" }],
  "POST /v1/hosts/enroll": () => [
    {
      salt,
      agent: { version: "1", os: "linux", arch: "x64" },
      bootId: "boot-1",
      resources: { vcpus: 4, memoryBytes: 2 ** 33, diskBytes: 2 ** 33, gpus: 0 },
    },
  ],
  "POST /v1/hosts/{worker}/secrets": () => [{ attempt: "held/main/1.1", publicKey: salt }],
  "POST /v1/hosts/{worker}/join": () => [{ start: "a-start-of-the-agent", bootId: "boot-1" }],
  "POST /v1/hosts/{worker}/reports": (_, speaker) => {
    speaker.seq += 1;
    return [report(speaker)];
  },
};
