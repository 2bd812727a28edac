import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { wholeBody } from "../../support/whole-body.ts";
import { type FakeEdge, openEdge } from "./fake-edge.ts";

// A fake of the API of a Cloudflare account, as far as wrangler needs it to deploy a Worker. It keeps state
// and runs what is uploaded. Answers have the forms and codes of the real API.

export const ACCOUNT = { id: "0123456789abcdef0123456789abcdef", name: "Acme" };
const SUBDOMAIN = "acme";

/** A Worker as the account has it. */
interface Worker {
  script: string;
  bindings: { type: string; name: string; bucket_name?: string; text?: string }[];
  secrets: Map<string, string>;
  domains: string[];
  versions: string[];
  crons: string[];
}

export interface FakeAccount {
  /** For `CLOUDFLARE_API_BASE_URL`. */
  url: string;
  workers: Map<string, Worker>;
  buckets: Set<string>;
  accounts: { id: string; name: string }[];
  /** Each request: method and path below the account. */
  requests: string[];
  /** Called for each request that changes something or names it. An answer here is a refusal. */
  fault: (request: string) => { status: number; code: number; message: string } | undefined;
  /** Called after a request was carried out, and before it is answered. */
  carriedOut: (request: string) => void;
  /** Whether the address of a Worker leads to it. */
  answers: boolean;
  edge: FakeEdge;
  close(): Promise<void>;
}

type Answer = { status?: number; result: unknown } | { status: number; code: number; message: string };

const NO_WORKER: Answer = {
  status: 404,
  code: 10007,
  message: "This Worker does not exist on your account.",
};

/** Opens an account without Workers and buckets. */
export async function openAccount(stateDir: string): Promise<FakeAccount> {
  const server = createServer(async (request, response) => {
    const body = await wholeBody(request);
    if (body === undefined) return;
    if (request.headers["x-fake-host"] !== undefined) {
      return void (await edge.serve(request, response, body, account.answers));
    }
    const { pathname } = new URL(request.url ?? "", "http://api");
    const name = `${request.method} ${pathname.replace(`/accounts/${ACCOUNT.id}`, "")}`;
    account.requests.push(name);
    const refused = account.fault(name);
    const answer = refused ?? (await answerTo(account, name, request, body));
    if (refused === undefined) account.carriedOut(name);
    send(response, answer);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo; // it listens on a port
  const workers = new Map<string, Worker>();
  const hostOf = (host: string) =>
    [...workers].find(([name, { domains }]) => domains.includes(host) || host === hostName(name))?.[0];
  const edge = openEdge(stateDir, hostOf);
  const account: FakeAccount = {
    url: `http://127.0.0.1:${port}`,
    workers,
    buckets: new Set(),
    accounts: [ACCOUNT],
    requests: [],
    fault: () => undefined,
    carriedOut: () => undefined,
    answers: true,
    edge,
    async close() {
      await edge.close();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return account;
}

function hostName(worker: string): string {
  return `${worker}.${SUBDOMAIN}.workers.dev`;
}

function send(response: ServerResponse, answer: Answer): void {
  const errors = "code" in answer ? [{ code: answer.code, message: answer.message }] : [];
  const result = "result" in answer ? answer.result : null;
  const count = Array.isArray(result) ? result.length : 1;
  const info = { page: 1, per_page: 100, count, total_count: count, total_pages: 1 };
  response.writeHead(answer.status ?? 200, { "content-type": "application/json" });
  response.end(
    JSON.stringify({ success: errors.length === 0, errors, messages: [], result, result_info: info }),
  );
}

/** Answers a request; `request` and `body` are those of an upload. */
async function answerTo(
  account: FakeAccount,
  name: string,
  request: IncomingMessage,
  body: Buffer,
): Promise<Answer> {
  const bucket = /^(\w+) \/r2\/buckets(?:\/(.+))?$/.exec(name);
  if (bucket !== null) return bucketAnswer(account, bucket[1], bucket[2], body);
  const script = /^(\w+) \/workers\/(?:scripts|services|workers)\/([^/]+)(\/.*)?$/.exec(name);
  if (script !== null) {
    const [, method = "", worker = "", rest = ""] = script;
    return workerAnswer(account, worker, { call: `${method} ${rest}`, name, request, body });
  }
  switch (name) {
    case "GET /user/tokens/verify":
      return { result: { id: "t1", status: "active" } };
    case "GET /user":
      return { result: { id: "u1", email: "dev@acme.example" } };
    case "GET /accounts":
      return { result: account.accounts };
    case "GET /memberships":
      return { result: account.accounts.map((one) => ({ id: one.id, account: one })) };
    case "GET /workers/subdomain":
      return { result: { subdomain: SUBDOMAIN } };
    default:
      return { status: 404, code: 7003, message: `the fake does not know ${name}` };
  }
}

function bucketAnswer(
  { buckets }: FakeAccount,
  method: string | undefined,
  named: string | undefined,
  body: Buffer,
): Answer {
  const shown = (name: string) => ({ name, creation_date: "2026-11-27T00:00:00.000Z" });
  if (method === "GET" && named === undefined) return { result: { buckets: [...buckets].map(shown) } };
  if (method === "GET" && named !== undefined) {
    return buckets.has(named)
      ? { result: shown(named) }
      : { status: 404, code: 10006, message: "The specified bucket does not exist." };
  }
  const { name }: { name: string } = JSON.parse(body.toString());
  if (buckets.has(name)) {
    return {
      status: 409,
      code: 10004,
      message: "The bucket already exists, and you own it.",
    };
  }
  buckets.add(name);
  return { result: shown(name) };
}

interface WorkerCall {
  /** Method, and what follows the name of the Worker. */
  call: string;
  name: string;
  request: IncomingMessage;
  body: Buffer;
}

async function workerAnswer(
  account: FakeAccount,
  name: string,
  { call, name: whole, request, body }: WorkerCall,
): Promise<Answer> {
  const worker = account.workers.get(name);
  if (call === "PUT " || call === "POST /versions") return upload(account, name, request, body);
  if (call === "POST /assets-upload-session") return { result: { jwt: "a.b.c", buckets: [] } };
  if (worker === undefined) {
    const isService = whole.startsWith("GET /workers/services/");
    return isService
      ? { status: 404, code: 10090, message: "workers.api.error.service_not_found" }
      : NO_WORKER;
  }
  switch (call) {
    case "GET ": {
      const script = { tag: "tag", tags: [], last_deployed_from: "wrangler" };
      const subdomain = { enabled: true, previews_enabled: false };
      return { result: { id: name, default_environment: { environment: "production", script }, subdomain } };
    }
    case "GET /secrets":
      return { result: [...worker.secrets.keys()].map((one) => ({ name: one, type: "secret_text" })) };
    case "PATCH /secrets-bulk": {
      const { secrets }: { secrets: Record<string, { text: string } | null> } = JSON.parse(body.toString());
      for (const [key, value] of Object.entries(secrets))
        if (value !== null) worker.secrets.set(key, value.text);
      await run(account, name, worker);
      return { result: [] };
    }
    case "GET /settings":
      return { result: { bindings: shownBindings(worker), migration_tag: "v2" } };
    case "GET /script-settings":
    case "PATCH /script-settings":
      return { result: { tags: [] } };
    case "GET /deployments": {
      const versions = worker.versions.slice(-1).map((id) => ({ version_id: id, percentage: 100 }));
      const one = { id: "d1", source: "wrangler", strategy: "percentage", author_email: "", versions };
      return { result: { deployments: [{ ...one, created_on: "2026-11-27T00:00:00.000Z" }] } };
    }
    case "POST /deployments":
      await run(account, name, worker);
      return { result: { id: "d2" } };
    case "GET /subdomain":
    case "POST /subdomain":
      return { result: { enabled: true, previews_enabled: false } };
    case "PUT /schedules":
      worker.crons = JSON.parse(body.toString()).map(({ cron }: { cron: string }) => cron);
      return { result: { schedules: worker.crons.map((cron) => ({ cron })) } };
    case "POST /domains/changeset":
      return { result: { added: [], removed: [], updated: [], conflicting: [] } };
    case "PUT /domains/records": {
      const { origins }: { origins: { hostname: string }[] } = JSON.parse(body.toString());
      worker.domains = origins.map(({ hostname }) => hostname);
      return { result: [] };
    }
    default:
      return { status: 404, code: 7003, message: `the fake does not know ${whole}` };
  }
}

function shownBindings({ bindings, secrets }: Worker): object[] {
  return [...bindings, ...[...secrets.keys()].map((name) => ({ type: "secret_text", name }))];
}

/** Takes a Worker: its code, its bindings, and its secrets, which join those that are there. */
async function upload(
  account: FakeAccount,
  name: string,
  request: IncomingMessage,
  body: Buffer,
): Promise<Answer> {
  const headers = { "content-type": request.headers["content-type"] ?? "" };
  const form = await new Response(new Uint8Array(body), { headers }).formData();
  const metadata = JSON.parse(String(form.get("metadata")));
  const main = form.get(metadata.main_module);
  if (!(main instanceof Blob)) return { status: 400, code: 10021, message: "there is no main module" };
  const known = account.workers.get(name);
  const secrets = new Map(known?.secrets);
  const bindings: { type: string; name: string; text?: string }[] = metadata.bindings;
  for (const one of bindings) if (one.type === "secret_text") secrets.set(one.name, one.text ?? "");
  const version = crypto.randomUUID();
  const worker: Worker = {
    script: await main.text(),
    bindings: bindings.filter(({ type }) => type !== "secret_text" && type !== "inherit"),
    secrets,
    domains: known?.domains ?? [],
    versions: [...(known?.versions ?? []), version],
    crons: known?.crons ?? [],
  };
  account.workers.set(name, worker);
  if (request.method === "PUT") await run(account, name, worker);
  const shown = { id: version, deployment_id: version, etag: "etag", tag: "tag", startup_time_ms: 1 };
  return {
    result: {
      ...shown,
      resources: { script: { etag: "etag" } },
      metadata: {},
      number: worker.versions.length,
    },
  };
}

async function run(
  { edge }: FakeAccount,
  name: string,
  { script, secrets, bindings }: Worker,
): Promise<void> {
  const hasBucket = bindings.some(({ type }) => type === "r2_bucket");
  const plain = bindings.filter(({ type }) => type === "plain_text");
  const vars = {
    ...Object.fromEntries(plain.map((one) => [one.name, one.text ?? ""])),
    ...Object.fromEntries(secrets),
  };
  await edge.run(name, { script, vars, hasBucket });
}
