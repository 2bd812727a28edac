import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { AuditEntry } from "../../src/schema/access/audit.ts";
import { AUDIT_ACTIONS } from "../../src/shared/access/audit-actions.ts";
import { SCOPES, type Scope } from "../../src/shared/access/scopes.ts";
import { makeHostKey } from "../../src/signing/seal.ts";
import { type Caller, type Json, openEdge } from "./support/edge.ts";
import { TestHost } from "./support/host.ts";
import { askedMachine, bootMachine, eventually, freshWorld, makePool, objects } from "./support/world.ts";

// Each action of the log, by the request that causes it: who is named, what it concerns, and whose entry it
// is.

const world = freshWorld();

type Action = (typeof AUDIT_ACTIONS)[number];

/** What an entry must say. A field that is absent here is what is usual: `ml` did it, and it is `ml`'s. */
interface Expected {
  target: Partial<AuditEntry["target"]>;
  by?: string;
  project?: string | null;
  pool?: string | null;
  run?: string | null;
  result?: "denied";
  reason?: string | RegExp;
  diff?: unknown;
}

/** An entry, and the answer to the request that caused it. Null: no request of a user did. */
type Cause = () => Promise<{ answer: Response | null; expected: Expected }>;

const ADDRESS = "192.0.2.7";
const AGENT = "curl/8.11";
const ISSUER = "https://ci.example.com";
const RUN = { argv: ["true"], resources: { vcpus: 4 } };
const RULE = { issuer: ISSUER, audience: "https://drover.test", claims: { sub: "job-7" }, preset: "viewer" };
const POOL = {
  provider: { kind: "http", url: "http://cloud.test", secret: "cloud-secret" },
  instanceTypes: { small: { vcpus: 4, memory: "8GiB" } },
};
const FROM = { "cf-connecting-ip": ADDRESS, "user-agent": AGENT };

let edge: ReturnType<typeof openEdge>;
/** A token of the project `ml`, to which the pool `default` belongs. */
let ml: Caller;
/** Whoever only prepares what a request needs. */
let admin: Caller;
/** The issuer's token of a job. */
let jobToken: string;

/** Serves the issuer's two documents. */
async function openIssuer(): Promise<(url: string) => Promise<Response>> {
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
  const key = { ...(await exportJWK(publicKey)), kid: "k1", alg: "RS256", use: "sig" };
  jobToken = await new SignJWT({ sub: "job-7" })
    .setProtectedHeader({ alg: "RS256", kid: "k1" })
    .setIssuer(ISSUER)
    .setAudience("https://drover.test")
    .setJti("once")
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(privateKey);
  return async (url) =>
    Response.json(
      url.endsWith("openid-configuration") ? { issuer: ISSUER, jwks_uri: `${ISSUER}/keys` } : { keys: [key] },
    );
}

beforeEach(async () => {
  const ask = await openIssuer();
  edge = openEdge({ url: "https://drover.test", issuers: { allowsLocal: true, ask } });
  admin = edge.as(edge.admin.token, { "drover-project": "ml" });
  await edge.admin.json(201, "POST", "/v1/projects", { name: "ml" });
  await makePool({ projects: { ml: {} }, maxInstances: 1 });
  const scopes = SCOPES.filter((scope) => scope !== "admin" && scope !== "projects:write");
  const { token } = await edge.newToken({ name: "ci", scopes }, "ml");
  ml = edge.as(token, FROM);
  const reached = vi.mocked(globalThis.fetch);
  const toCloud = reached.getMockImplementation();
  reached.mockImplementation(async (input, init) =>
    toCloud === undefined || String(input).startsWith(hook.url) ? new Response() : toCloud(input, init),
  );
});

const submitted = async (more: object = {}): Promise<string> =>
  (await admin.json(201, "POST", "/v1/runs", { ...RUN, ...more })).id;

/** A run whose only task runs. */
const running = async () => (await runningOn()).id;

/** The same, with its host. */
async function runningOn(more: object = {}): Promise<{ id: string; host: TestHost }> {
  const id = await submitted(more);
  const { host } = await bootMachine(world.cloud);
  const attempt = `${id}/main/1.1`;
  await eventually(async () => {
    const { attempts } = await host.report();
    return attempts.some((one) => one.id === attempt) || undefined;
  });
  host.attempts = [{ id: attempt, state: "running", startedAgoMs: 5 }];
  await host.report();
  await eventually(async () =>
    (await admin.json(200, "GET", `/v1/runs/${id}`)).state === "running" ? true : undefined,
  );
  return { id, host };
}

/** A run that has failed, and that its machine keeps. */
const kept = () => failed({ keep: "1h" }, "kept");

/** A run that has failed for good, and waits for somebody. */
const parked = () => failed({ retry: { on: ["oom"], park: true } }, "parked");

async function failed(more: object, field: "kept" | "parked"): Promise<string> {
  const { id, host } = await runningOn(more);
  const exit = { code: 3, signal: null, oomKilled: false, message: "" };
  host.attempts = [{ id: `${id}/main/1.1`, state: "exited", startedAgoMs: 5, exit }];
  await host.report();
  await eventually(async () =>
    (await admin.json(200, "GET", `/v1/runs/${id}`))[field] === undefined ? undefined : true,
  );
  return id;
}

const hook = { name: "hook", url: "https://receiver.test/hook" };
const withWebhook = () => admin.json(201, "POST", "/v1/webhooks", hook);
const withRule = () => admin.json(201, "PUT", "/v1/trust-rules/ci", RULE);
const withSecret = () => admin.json(200, "PUT", "/v1/secrets/key", { value: "correct-horse" });
const newToken = (name: string, scopes: Scope[] = ["runs:read"]) =>
  admin.json(201, "POST", "/v1/tokens", { name, scopes });

/** Who has the secret of the deployment. */
const boss = () => edge.as(edge.admin.token, FROM);

/** That a backup was made now. */
const madeNow = () => ({ madeAt: new Date().toISOString() });

/** What a request of `ml` does to a run. */
const toRun =
  (method: string, rest: string, body?: object, more: Partial<Expected> = {}, made = submitted): Cause =>
  async () => {
    const id = await made();
    const answer = await ml.send(method, `/v1/runs/${id}${rest}`, body);
    return { answer, expected: { target: { kind: "run", id }, pool: "default", run: id, ...more } };
  };

/** What a request of `ml` does to a machine that nobody has used. `before`: what was done to it before. */
const toWorker =
  (verb: string, before?: string): Cause =>
  async () => {
    await submitted();
    const { worker } = await bootMachine(world.cloud);
    if (before !== undefined) await admin.json(200, "POST", `/v1/workers/${worker}/${before}`, {});
    const answer = await ml.send("POST", `/v1/workers/${worker}/${verb}`, {});
    return { answer, expected: { target: { kind: "worker", id: worker }, pool: "default" } };
  };

/** What a request of `ml` does to a webhook. */
const toWebhook =
  (method: string, rest: string, body?: object, more: Partial<Expected> = {}, before?: string): Cause =>
  async () => {
    const { id } = await withWebhook();
    if (before !== undefined) await admin.json(200, "POST", `/v1/webhooks/hook/${before}`, {});
    const answer = await ml.send(method, `/v1/webhooks/hook${rest}`, body);
    return { answer, expected: { target: { kind: "webhook", id, name: "hook" }, ...more } };
  };

/** What a request does to the job `nightly`. `before`: what is done to it first. */
const toJob =
  (method: string, rest: string, body?: object, before?: string): Cause =>
  async () => {
    await ml.json(201, "PUT", "/v1/jobs/nightly", { spec: { argv: ["true"] } });
    if (before !== undefined) await admin.json(200, "POST", `/v1/jobs/nightly/${before}`, {});
    const answer = await ml.send(method, `/v1/jobs/nightly${rest}`, body);
    return { answer, expected: { target: { kind: "job", id: "nightly" }, pool: "default" } };
  };

/** What a request does to a project, which belongs to the operator. */
const toProject =
  (method: string, path: string, body?: object): Cause =>
  async () => {
    const { token } = await edge.newToken({ name: "boss", scopes: ["projects:write"] });
    if (method === "DELETE") await edge.admin.json(201, "POST", "/v1/projects", { name: "web" });
    const answer = await edge.as(token, FROM).send(method, path, body);
    return { answer, expected: { by: "token:boss", target: { kind: "project", id: "web" }, project: null } };
  };

const CAUSES: Record<Exclude<Action, "log.gap">, Cause> = {
  "run.submit": async () => {
    const answer = await ml.send("POST", "/v1/runs", RUN);
    const { id } = await answer.clone().json<Json>();
    return { answer, expected: { target: { kind: "run", id }, pool: "default", run: id } };
  },
  "run.abort": toRun("POST", "/abort", { reason: "enough" }, { reason: "enough" }),
  "run.restart": toRun("POST", "/restart", { task: "main" }, { reason: "task main" }, running),
  "run.release": toRun("POST", "/release", undefined, { reason: /has released it$/ }, kept),
  "run.redrive": toRun("POST", "/redrive", undefined, { reason: /^as ml\.k-/ }, parked),
  "run.tunnel": async () => {
    const id = await running();
    const answer = await ml.send("GET", `/v1/runs/${id}/tunnels/t-audit-1?kind=exec`, undefined, {
      upgrade: "websocket",
    });
    return {
      answer,
      expected: { target: { kind: "run", id }, pool: "default", run: id, reason: "exec" },
    };
  },
  "run.signal": toRun("POST", "/signal", { signal: "SIGHUP" }, { reason: /^SIGHUP to/ }, running),
  "run.update": toRun(
    "PATCH",
    "",
    { specIndex: 1, spec: { ...RUN, priority: 3 } },
    { diff: [{ field: "/priority", from: "50", to: "3" }] },
  ),
  "run.delete": toRun("DELETE", "", undefined, { reason: /^it was submitted by admin at/ }, async () => {
    const id = await submitted();
    await admin.json(200, "POST", `/v1/runs/${id}/abort?wait=60s`, {});
    return id;
  }),
  "worker.hold": toWorker("hold"),
  "worker.drain": toWorker("drain"),
  "worker.resume": toWorker("resume", "hold"),
  "worker.kill": toWorker("kill"),
  "enrollment.create": async () => {
    const answer = await ml.send("POST", "/v1/enrollments", {});
    const { worker: id } = await answer.clone().json<Json>();
    return { answer, expected: { target: { kind: "worker", id }, pool: "default" } };
  },
  "pool.put": async () => {
    const answer = await ml.send("PUT", "/v1/pools/new", POOL);
    return { answer, expected: { target: { kind: "pool", id: "new" }, pool: "new" } };
  },
  "pool.delete": async () => {
    await admin.json(201, "PUT", "/v1/pools/new", POOL);
    const answer = await ml.send("DELETE", "/v1/pools/new");
    return { answer, expected: { target: { kind: "pool", id: "new" }, pool: "new", reason: "how: empty" } };
  },
  "token.create": async () => {
    const answer = await ml.send("POST", "/v1/tokens", { name: "fresh", preset: "viewer" });
    const { id } = await answer.clone().json<Json>();
    return { answer, expected: { target: { kind: "token", id, name: "fresh" } } };
  },
  "token.rotate": async () => {
    const { id } = await newToken("old");
    const answer = await ml.send("POST", `/v1/tokens/${id}/rotate`, {});
    return { answer, expected: { target: { kind: "token", id, name: "old" } } };
  },
  "token.revoke": async () => {
    const { id } = await newToken("old");
    const answer = await ml.send("DELETE", `/v1/tokens/${id}`);
    return { answer, expected: { target: { kind: "token", id, name: "old" } } };
  },
  "token.exchange": async () => {
    await withRule();
    const headers = { ...FROM, "content-type": "application/json" };
    const body = JSON.stringify({ token: jobToken, project: "ml" });
    const answer = await edge.fetchFrom("/v1/oidc/exchange", { method: "POST", headers, body });
    const name = "oidc:ml:ci/job-7";
    return { answer, expected: { by: name, target: { kind: "token", name } } };
  },
  "token.restore": async () => {
    const { id } = await newToken("kept");
    const { tokens } = await boss().json(200, "GET", "/v1/backup");
    const restored = { ...tokens.find((one: Json) => one.id === id), id: "another001", name: "again" };
    const answer = await boss().send("POST", "/v1/restore", { ...madeNow(), tokens: [restored] });
    const target = { kind: "token", id: "another001", name: "again" } as const;
    return { answer, expected: { by: "admin", target } };
  },
  "secret.set": async () => {
    const answer = await ml.send("PUT", "/v1/secrets/key", { value: "correct-horse" });
    return { answer, expected: { target: { kind: "secret", id: "key" } } };
  },
  "secret.remove": async () => {
    await withSecret();
    const answer = await ml.send("DELETE", "/v1/secrets/key");
    return { answer, expected: { target: { kind: "secret", id: "key" } } };
  },
  "secret.hand": async () => {
    await withSecret();
    const id = await submitted({ secrets: { KEY: { secret: "key" } } });
    const { worker, code } = await askedMachine(world.cloud);
    const host = new TestHost(() => objects.worker(worker));
    host.publicKey = (await makeHostKey()).publicKey;
    await host.enroll(code);
    await host.report({ boot: { ok: true, output: "" } });
    const attempt = `${id}/main/1.1`;
    await eventually(async () =>
      (await host.report()).attempts.some((one) => one.id === attempt) ? true : undefined,
    );
    await host.secrets(attempt);
    await host.report();
    const reason = `key to ${worker}, for ${attempt}`;
    const about = { by: `host:${worker}`, pool: "default", run: id, reason };
    return { answer: null, expected: { target: { kind: "run", id }, ...about } };
  },
  "trust.put": async () => {
    const answer = await ml.send("PUT", "/v1/trust-rules/ci", RULE);
    return { answer, expected: { target: { kind: "trust", id: "ci" } } };
  },
  "trust.delete": async () => {
    await withRule();
    const answer = await ml.send("DELETE", "/v1/trust-rules/ci");
    return { answer, expected: { target: { kind: "trust", id: "ci" } } };
  },
  "trust.restore": async () => {
    await withRule();
    const { trustRules } = await boss().json(200, "GET", "/v1/backup");
    const restored = { ...trustRules.find(({ name }: Json) => name === "ci"), name: "again" };
    const answer = await boss().send("POST", "/v1/restore", { ...madeNow(), trustRules: [restored] });
    return { answer, expected: { by: "admin", target: { kind: "trust", id: "again" } } };
  },
  "key.replace": async () => {
    const answer = await boss().send("POST", "/v1/issuer/keys/replace");
    const { kid: id } = await answer.clone().json<Json>();
    return { answer, expected: { by: "admin", target: { kind: "key", id }, project: "default" } };
  },
  "session.start": async () => {
    const headers = { ...FROM, "content-type": "application/json" };
    const body = JSON.stringify({ token: ml.token });
    const answer = await edge.fetchFrom("/ui/session", { method: "POST", headers, body });
    const [session] = (await admin.json(200, "GET", "/v1/sessions")).items;
    return { answer, expected: { target: { kind: "session", id: session.id } } };
  },
  "session.end": async () => {
    const { code } = await ml.json(201, "POST", "/v1/sessions");
    const headers = { "content-type": "application/json" };
    await edge.fetchFrom("/ui/session", { method: "POST", headers, body: JSON.stringify({ code }) });
    const [{ id }] = (await admin.json(200, "GET", "/v1/sessions")).items;
    const answer = await ml.send("DELETE", `/v1/sessions/${id}`);
    return { answer, expected: { target: { kind: "session", id } } };
  },
  "project.create": toProject("POST", "/v1/projects", { name: "web" }),
  "project.delete": toProject("DELETE", "/v1/projects/web"),
  "webhook.create": async () => {
    const answer = await ml.send("POST", "/v1/webhooks", hook);
    const { id } = await answer.clone().json<Json>();
    return { answer, expected: { target: { kind: "webhook", id, name: "hook" } } };
  },
  "webhook.change": toWebhook(
    "PUT",
    "",
    { url: "https://receiver.test/other" },
    { diff: [{ field: "/url", from: "[secret]", to: "[secret]" }] },
  ),
  "webhook.rotate": toWebhook("POST", "/rotate", {}),
  "webhook.delete": toWebhook("DELETE", ""),
  "webhook.enable": toWebhook("POST", "/enable", {}, {}, "disable"),
  "webhook.disable": toWebhook("POST", "/disable"),
  "webhook.replay": toWebhook("POST", "/replay", { since: new Date(0).toISOString() }),
  "job.put": async () => {
    const answer = await ml.send("PUT", "/v1/jobs/nightly", { spec: { argv: ["true"] } });
    const expected = {
      target: { kind: "job", id: "nightly" },
      pool: "default",
      reason: "version 1",
    } as const;
    return { answer, expected };
  },
  "job.pause": toJob("POST", "/pause"),
  "job.resume": toJob("POST", "/resume", {}, "pause"),
  "job.delete": toJob("DELETE", ""),
  "request.denied": async () => {
    const { token } = await newToken("reader");
    const answer = await edge.as(token, FROM).send("GET", "/v1/pools/default");
    const by = "token:ml:reader";
    const reason = "missing_scope: GET /v1/pools/:name";
    return { answer, expected: { by, target: { kind: "caller", id: by }, result: "denied", reason } };
  },
};

/** Actions that no request and no host causes, with where they are tried. */
const BY_DROVER = { "log.gap": "test/core/audit" } satisfies Record<
  Exclude<Action, keyof typeof CAUSES>,
  string
>;

describe("each action, by the request that causes it (audit.md#entries, audit.md#via)", () => {
  test("no action is missing in the table", () => {
    expect([...Object.keys(CAUSES), ...Object.keys(BY_DROVER)].sort()).toEqual([...AUDIT_ACTIONS].sort());
  });

  test.each(Object.entries(CAUSES))("%s", async (action, cause) => {
    const { answer, expected } = await cause();
    if (answer !== null && answer.status >= 400 && expected.result !== "denied")
      throw new Error(`${action} was refused with ${answer.status}: ${await answer.text()}`);
    const { by = "token:ml:ci", reason, diff, ...fields } = expected;
    const path = `/v1/audit?action=${action}&actor=${by}&limit=10`;
    const entries = await eventually(async () => {
      const { items } = await edge.admin.json(200, "GET", path);
      return items.length === 0 ? undefined : items;
    });
    expect(entries).toHaveLength(1);
    const [kind = "", ...name] = by.split(":");
    const via =
      answer === null
        ? null
        : { requestId: answer.headers.get("x-request-id"), address: ADDRESS, userAgent: AGENT };
    expect(entries[0]).toMatchObject({
      action,
      actor: { kind, name: name.join(":") || kind },
      project: "ml",
      pool: null,
      run: null,
      result: "ok",
      ...fields,
      via,
    });
    if (reason !== undefined) expect(entries[0].reason).toMatch(reason);
    if (diff !== undefined) expect(entries[0].diff).toEqual(diff);
    // Behind the wall of its project the entry is there; what is the operator's is not.
    const seen = await admin.json(200, "GET", path);
    expect(seen.items).toHaveLength(entries[0].project === "ml" ? 1 : 0);
  });
});
