import { createHash, createHmac } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import type { RunStatus, RunSummary } from "../../../src/schema/run/run.ts";
import { proofText } from "../../../src/shared/proof.ts";
import { parseSize } from "../../../src/shared/size.ts";
import { changed, type RunPatch, statusOf as sampleOf } from "../../edge/support/samples.ts";

/** A request that the control plane of the test has received. */
export interface Seen {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: unknown;
}

export type Handler = (seen: Seen, res: ServerResponse) => unknown;

export const TOKEN = "drv_test";
const SUBMITTED_AT = "2026-11-21T08:00:00.000Z";

/** A status that fits the schema: a test with an invented wire format proves nothing. */
export function statusOf(id: string, patch: RunPatch = {}): RunStatus {
  return changed(sampleOf(id), { submittedAt: SUBMITTED_AT, ...patch });
}

/** A task of a status that has not ended, unless `more` says so. */
export function taskOf(more: Partial<RunStatus["tasks"][number]>): RunStatus["tasks"][number] {
  const times = { lastRestart: null, nextStart: null, startedAt: null, finishedAt: null };
  const known = { name: "main", state: "pending", phase: "running", failed: false } as const;
  return { ...known, ...times, restarts: 0, attempts: [], events: [], ...more };
}

export function summaryOf(id: string, patch: Partial<RunSummary> = {}): RunSummary {
  return {
    id,
    state: "running",
    version: 1,
    project: "default",
    pool: "default",
    labels: {},
    priority: 50,
    command: "make test",
    exitCode: null,
    worker: "w-1",
    submittedAt: SUBMITTED_AT,
    startedAt: SUBMITTED_AT,
    finishedAt: null,
    ...patch,
  };
}

/** Answers with JSON. */
export function json(
  res: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
) {
  const text = JSON.stringify(value);
  const length = { "content-length": Buffer.byteLength(text) };
  res.writeHead(status, { "content-type": "application/json", ...length, ...headers }).end(text);
}

/** Answers with a problem document. */
export function problem(
  res: ServerResponse,
  status: number,
  code: string,
  more: {
    detail?: string;
    errors?: { pointer: string; detail: string }[];
    retryAfter?: string;
    runs?: string[];
  } = {},
) {
  const temporary = status === 429 || status === 503;
  const { detail = `it is ${code}`, errors, retryAfter, runs } = more;
  const document = {
    type: "about:blank",
    title: code,
    status,
    detail,
    instance: "/",
    code,
    temporary,
    errors,
    runs,
  };
  const headers: Record<string, string> = { "content-type": "application/problem+json" };
  if (retryAfter !== undefined) headers["retry-after"] = retryAfter;
  res.writeHead(status, headers).end(JSON.stringify(document));
}

/**
 * A control plane that follows a script, behind real HTTP.
 *
 * Runs are accepted and stay as they are until the test calls `end`. Logs are what the test puts into `logs`.
 * Any route can be taken over with `on`, for all requests or for the next few.
 */
export class ControlPlane {
  readonly seen: Seen[] = [];
  readonly runs = new Map<string, RunStatus>();
  /** The bytes of each stream, and whether more will come. */
  readonly logs = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  logsEnded = true;
  /** The stored archives, by their digests. */
  readonly snapshots = new Map<string, Buffer>();
  /** How a run ends as soon as it is submitted; undefined: it waits for `end`. */
  ends: RunPatch | undefined = { state: "complete", exitCode: 0 };
  why = { state: "pending", reason: { code: "no_workers", text: "no machine is ready" } };
  url = "";
  readonly #changes = new EventEmitter().setMaxListeners(0);
  readonly #overrides: { method: string; path: RegExp; handler: Handler; left: number }[] = [];
  readonly #server = createServer((req, res) => {
    this.#answer(req, res).catch((error: unknown) => res.destroy(error instanceof Error ? error : undefined));
  });

  async start(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the server has no port");
    this.url = `http://127.0.0.1:${address.port}`;
    return this;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  /** Takes a route over, for the next `times` requests. */
  on(method: string, path: RegExp, handler: Handler, times = Number.POSITIVE_INFINITY): void {
    this.#overrides.unshift({ method, path, handler, left: times });
  }

  /** Changes a run and wakes everyone who waits for it. Without an id: every run. */
  end(patch: RunPatch, id?: string): void {
    for (const [name, run] of this.runs) {
      if (id === undefined || id === name) this.runs.set(name, changed(run, patch));
    }
    this.#changes.emit("change");
  }

  /** Appends to a stream. */
  write(stream: "stdout" | "stderr", bytes: string | Uint8Array): void {
    this.logs[stream] = Buffer.concat([this.logs[stream], Buffer.from(bytes)]);
    this.#changes.emit("change");
  }

  /** Ends the logs: nothing more will be written. */
  endLogs(): void {
    this.logsEnded = true;
    this.#changes.emit("change");
  }

  /** The requests to a route, once there are at least this many. */
  async requests(method: string, path: RegExp, atLeast = 1): Promise<Seen[]> {
    for (;;) {
      const found = this.seen.filter((seen) => seen.method === method && path.test(seen.path));
      if (found.length >= atLeast) return found;
      await once(this.#changes, "request");
    }
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? "/", this.url);
    if (url.pathname === "/proof") return this.#prove(url, res);
    const body = await buffer(req);
    const isJson = req.headers["content-type"] === "application/json";
    const seen: Seen = {
      method: req.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: req.headers,
      body: body.length === 0 ? undefined : isJson ? JSON.parse(body.toString()) : body,
    };
    this.seen.push(seen);
    this.#changes.emit("request");
    if (req.headers.authorization !== `Bearer ${TOKEN}`) return problem(res, 401, "unauthorized");
    const override = this.#overrides.find(
      ({ method, path, left }) => left > 0 && method === seen.method && path.test(seen.path),
    );
    if (override === undefined) return await this.#ordinary(seen, res);
    override.left -= 1;
    await override.handler(seen, res);
  }

  /** Proves itself, as a local Drover must before it is sent anything else. */
  #prove({ host, searchParams }: URL, res: ServerResponse): void {
    const text = proofText(host, searchParams.get("nonce") ?? "");
    const proof = createHmac("sha256", TOKEN).update(text).digest("base64url");
    json(res, 200, { address: host, proof });
  }

  async #ordinary(seen: Seen, res: ServerResponse): Promise<void> {
    if (seen.method === "POST" && seen.path === "/v1/runs") return this.#submit(seen, res);
    if (seen.path.startsWith("/v1/snapshots/")) return void this.#snapshot(seen, res);
    const [, , , id = "", what, , stream] = seen.path.split("/");
    const run = this.runs.get(id);
    if (!seen.path.startsWith("/v1/runs/") || run === undefined) return problem(res, 404, "unknown_run");
    if (what === undefined) return await this.#read(id, seen, res);
    if (what === "why") {
      return json(res, 200, { ...this.why, next: { action: "asks for one", at: null }, chain: [] });
    }
    if (what === "abort") {
      this.end({ state: "aborted", abort: { reason: "", by: "test" } }, id);
      this.endLogs();
      return json(res, 200, this.runs.get(id));
    }
    if (what === "logs" && (stream === "stdout" || stream === "stderr"))
      return await this.#log(stream, seen, res);
    if (what === "logs" && stream === undefined) return await this.#arrivals(seen, res);
    problem(res, 404, "not_found");
  }

  #snapshot({ method, path, body }: Seen, res: ServerResponse): unknown {
    const digest = path.slice(path.lastIndexOf(":") + 1);
    const stored = this.snapshots.get(digest);
    if (method !== "PUT") {
      if (stored === undefined) return problem(res, 404, "unknown_snapshot");
      return res.writeHead(200, { "content-length": stored.length }).end(stored);
    }
    const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
    const found = createHash("sha256").update(bytes).digest("hex");
    if (found !== digest) return problem(res, 422, "digest_mismatch");
    this.snapshots.set(digest, bytes);
    return json(res, stored === undefined ? 201 : 200, { id: `sha256:${digest}`, bytes: bytes.length });
  }

  #submit({ body }: Seen, res: ServerResponse): void {
    const id = isNamed(body) ? body.id : "r-minted";
    const before = this.runs.get(id);
    const status = before ?? statusOf(id, { ...this.ends });
    this.runs.set(id, status);
    const replayed = { "idempotency-replayed": String(before !== undefined) };
    json(res, before === undefined ? 201 : 200, status, replayed);
  }

  async #read(id: string, { query }: Seen, res: ServerResponse): Promise<void> {
    const waits = () => ["pending", "running"].includes(this.runs.get(id)?.state ?? "");
    while (query.has("wait") && waits() && !res.destroyed) await once(this.#changes, "change");
    json(res, 200, this.runs.get(id));
  }

  /** Says of all bytes that they arrived at the same time, stdout first. */
  async #arrivals({ query }: Seen, res: ServerResponse): Promise<void> {
    const from = (stream: "stdout" | "stderr") => Number(query.get(stream) ?? 0);
    const wanted = (["stdout", "stderr"] as const).filter((one) => one === (query.get("stream") ?? one));
    const isNew = () => wanted.some((stream) => this.logs[stream].length > from(stream));
    while (query.has("wait") && !isNew() && !this.logsEnded && !res.destroyed)
      await once(this.#changes, "change");
    const stored = { stdout: this.logs.stdout.length, stderr: this.logs.stderr.length };
    const items = wanted
      .map((stream) => ({ stream, from: from(stream), to: stored[stream], at: SUBMITTED_AT, after: null }))
      .filter((item) => item.to > item.from);
    json(res, 200, { attempt: "1.1", ended: this.logsEnded, stored, next: stored, items });
  }

  async #log(stream: "stdout" | "stderr", { query, headers }: Seen, res: ServerResponse): Promise<void> {
    const range = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? "");
    let at = Number(range?.[1] ?? 0);
    const end = (range?.[2] ?? "") === "" ? undefined : Number(range?.[2]) + 1;
    if (query.has("tail"))
      at = Math.max(0, this.logs[stream].length - (parseSize(query.get("tail") ?? "") ?? 0));
    const type = { "content-type": "application/octet-stream" };
    const size = this.logs[stream].length;
    const part = { ...type, "content-range": `bytes ${at}-${Math.max(at, size) - 1}/*` };
    if (at > 0 || end !== undefined) res.writeHead(206, part);
    else res.writeHead(200, type);
    res.flushHeaders();
    for (;;) {
      const bytes = this.logs[stream].subarray(at, end);
      at += bytes.length;
      if (bytes.length > 0 && !res.write(bytes)) await Promise.race([once(res, "drain"), once(res, "close")]);
      if (at === end) break;
      if (this.logs[stream].length > at) continue;
      if (this.logsEnded || !query.has("follow") || res.destroyed) break;
      await once(this.#changes, "change");
    }
    res.end();
  }
}

function isNamed(body: unknown): body is { id: string } {
  return typeof body === "object" && body !== null && "id" in body && typeof body.id === "string";
}
