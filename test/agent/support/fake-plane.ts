import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { arrivalsIn, inOrder } from "../../../src/core/allocation/output/arrivals.ts";
import type { SecretsRequest } from "../../../src/schema/access/secret.ts";
import {
  type AttemptOrder,
  type AttemptReport,
  EnrollRequest,
  type HostSetup,
  JoinRequest,
  type Orders,
  Report,
  type StreamName,
} from "../../../src/schema/host.ts";
import { MAX_LOG_CHUNK_BYTES, MAX_REPORT_BYTES } from "../../../src/shared/limits.ts";
import { newlinesIn } from "../../../src/shared/output/newlines.ts";
import {
  cutStamps,
  packStamps,
  type Stamp,
  stampedBytes,
  unpackStamps,
} from "../../../src/shared/time/stamps.ts";
import { answerKey, signAnswer } from "../../../src/signing/answer.ts";
import { codeKey, enrollmentCode, hostSecret } from "../../../src/signing/code.ts";
import { contextOfHanded } from "../../../src/signing/contexts.ts";
import { CHALLENGE, type Session, sealed, sessionKey, unsealed } from "../../../src/signing/frame.ts";
import { contentDigest, type Key, keyOf } from "../../../src/signing/mac.ts";
import { type ClaimedRequest, claimedRequest, isSignedWith } from "../../../src/signing/request.ts";
import { seal } from "../../../src/signing/seal.ts";
import { purposeOf } from "../../support/signed.ts";
import { wholeBody } from "../../support/whole-body.ts";
import { SnapshotStore } from "./snapshot-store.ts";

/** An answer to give in place of the ordinary one. */
export interface Override {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** Bytes in place of a body. */
  raw?: Buffer;
  /** This many of them are sent, then the connection is cut. 0: none is sent, and the connection hangs. */
  cutAfter?: number;
  /** The cut waits for this: bytes that the receiver has not written down are lost with the connection. */
  cutOnce?: () => Promise<unknown>;
  /** Who signs it; absent: the control plane. */
  signedBy?: "nobody" | "stranger";
  /** The call that it is signed for, if not the answered one. */
  signedFor?: Call | undefined;
  /** When it claims to be signed, in milliseconds; absent: now. */
  createdAt?: number;
}

/** One call as it arrived. */
export interface Call {
  method: string;
  path: string;
  /** With its question mark; empty if there is none. */
  query: string;
  wait: string | null;
  headers: IncomingMessage["headers"];
  body: string;
  /** The body as it arrived: not all bytes are text. */
  raw: Buffer;
  /** Where in its stream a chunk begins. */
  offset: number;
}

type Check = () => void;

export const SIGNING_KEY = "signing key of the fake control plane";
/** The code with which the host enrolls. */
export const CODE = enrollmentCode("w-1", Date.UTC(2100, 0), SIGNING_KEY);

/** Where chunks of logs go. */
const CHUNK_PATH = /^\/v1\/hosts\/w-1\/logs\/([^/]+)\/(stdout|stderr)$/;

/**
 * A control plane for one host: it verifies signatures, checks each report against the schema, stores log
 * bytes and holds answers back, all as host-protocol.md#exchange says. The test sets the orders.
 */
export class FakePlane {
  url = "";
  readonly calls: Call[] = [];
  readonly reports: Report[] = [];
  readonly enrolled: EnrollRequest[] = [];
  /** What the host did although no host may. Tests end by checking it. */
  readonly faults: string[] = [];
  readonly snapshots = new SnapshotStore();
  /** The secrets of attempts, by the names that their tasks have for them. */
  readonly secrets: Record<string, Record<string, Uint8Array>> = {};
  /** How many uploads are still cut off by a reset of their connection, after their first bytes. */
  resetsUploads = 0;
  secret = "";
  incarnation = 0;
  revision = 0;
  leaseMs = 1_800_000;
  setup: Partial<HostSetup> = {};
  orders: Partial<Orders> = {};
  /** The answer to the last report is held back: the host knows everything. */
  holds = false;
  /** The address that it claims to have; undefined: its own. */
  address: string | undefined;
  /** How many connections have been proven, or not. */
  greeted = 0;
  /** How many connections the host has made. */
  connections = 0;
  /** Whether sockets are offered; then, the open ones. */
  givesSockets = false;
  readonly sockets = new Set<WebSocket>();
  /** The session of each socket. */
  readonly sessions = new WeakMap<WebSocket, Session>();
  /** The answer to give to a call in place of the ordinary one; undefined: the ordinary one. */
  override: (call: Call) => Override | undefined = () => undefined;
  readonly #stored = new Map<string, Buffer>();
  readonly #stamps = new Map<string, Stamp[]>();
  readonly #checks = new Set<Check>();
  #server: Server | undefined;

  async start(): Promise<this> {
    const server = createServer((request, response) => void this.#serve(request, response));
    server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
    server.on("connection", () => {
      this.connections += 1;
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#server = server;
    return this;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.terminate();
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  /** Sets new orders, which replace the previous ones. */
  order(attempts: AttemptOrder[], more: Partial<Orders> = {}): void {
    this.holds = false;
    this.revision += 1;
    this.orders = { ...more, attempts };
    for (const socket of this.sockets) this.say(socket, { ...this.#orders(0), leaseMs: 0 });
    this.#changed();
  }

  /** Sends a frame on a socket, sealed by the control plane. */
  say(socket: WebSocket, what: object): void {
    const session = this.sessions.get(socket);
    if (session === undefined) throw new Error("nobody has opened this socket");
    socket.send(sealed(session.key, "plane", session.next, JSON.stringify(what)));
    session.next += 1;
  }

  /** The latest report of an attempt. */
  attempt(id: string): AttemptReport | undefined {
    return this.reports.at(-1)?.attempts.find((attempt) => attempt.id === id);
  }

  /** The bytes of a stream that were stored. */
  stored(id: string, stream: StreamName = "stdout"): Buffer {
    return this.#stored.get(`${id} ${stream}`) ?? Buffer.alloc(0);
  }

  /**
   * Resolves with what `look` finds, as soon as it finds something. The pauses of an agent can be long, by
   * chance or on a busy machine, so this gives up only shortly before the test itself does.
   */
  until<Found>(what: string, look: () => Found | undefined | false, timeoutMs = 120_000): Promise<Found> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const found = look();
        if (found === undefined || found === false) return;
        this.#checks.delete(check);
        clearTimeout(late);
        resolve(found);
      };
      const late = setTimeout(() => {
        this.#checks.delete(check);
        reject(new Error(`waited in vain for: ${what}. Last report: ${JSON.stringify(this.reports.at(-1))}`));
      }, timeoutMs);
      this.#checks.add(check);
      check();
    });
  }

  /** Resolves when the host reports that the attempt is in this state. */
  untilState(id: string, state: AttemptReport["state"]): Promise<AttemptReport> {
    return this.until(`${id} is ${state}`, () => {
      const attempt = this.attempt(id);
      return attempt?.state === state && attempt;
    });
  }

  /**
   * The stored output of an attempt, both streams in the order in which they arrived: each piece after the
   * name of its stream. `~`: nobody looked before it came.
   */
  inOrder(id: string): string[] {
    const read = (stream: StreamName) => {
      const stamps = this.#stamps.get(`${id} ${stream}`) ?? [];
      const length = this.stored(id, stream).length;
      return arrivalsIn(stream, [{ from: 0, length, stamps: packStamps(stamps) }], 0, 0);
    };
    return [...inOrder(read("stdout"), read("stderr"))].map(({ stream, from, to, after }) => {
      const text = this.stored(id, stream).subarray(from, to).toString();
      return `${stream} ${after === null ? "" : "~"}${text}`;
    });
  }

  /** Resolves when all bytes of the streams of an attempt are stored. */
  untilStored(id: string): Promise<AttemptReport> {
    return this.until(`the logs of ${id} are stored`, () => {
      const attempt = this.attempt(id);
      const sizeOf = (stream: StreamName) => attempt?.log?.[stream]?.size ?? 0;
      const whole = (stream: StreamName) => this.stored(id, stream).length === sizeOf(stream);
      return attempt?.state === "exited" && whole("stdout") && whole("stderr") && attempt;
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.once("data", () => this.#maybeReset(request));
    const raw = await wholeBody(request);
    if (raw === undefined) return;
    const url = new URL(request.url ?? "", this.url);
    const { headers } = request;
    const [wait, offset] = [url.searchParams.get("wait"), Number(url.searchParams.get("offset"))];
    const { method = "" } = request;
    const call = {
      method,
      path: url.pathname,
      query: url.search,
      wait,
      headers,
      body: raw.toString("utf8"),
      raw,
      offset,
    };
    if (url.pathname.endsWith("/hello")) return this.#greet(call, response);
    this.calls.push(call);
    const answer = this.override(call) ?? (await this.#answer(call));
    if (answer.raw !== undefined) return this.#sendBytes(answer.raw, answer, response);
    const body = JSON.stringify(answer.body ?? { detail: `a refusal with status ${answer.status}` });
    const signed = this.#signed(call, answer, body);
    response.writeHead(answer.status, { "content-type": "application/json", ...signed, ...answer.headers });
    response.end(body);
    this.#changed();
  }

  #maybeReset({ method, socket }: IncomingMessage): void {
    if (this.resetsUploads === 0 || method !== "PUT") return;
    this.resetsUploads -= 1;
    socket.resetAndDestroy();
  }

  /** Proves itself on a new connection. This does not count as a call. */
  #greet(call: Call, response: ServerResponse): void {
    const isHost = this.#verified(call) !== undefined;
    const body = JSON.stringify({ address: this.address ?? this.url.slice("http://".length) });
    const status = isHost ? 200 : 401;
    const signed = isHost ? this.#signed(call, { status }, body) : {};
    response.writeHead(status, { "content-type": "application/json", ...signed }).end(body);
    this.greeted += 1;
    this.#changed();
  }

  #sendBytes(raw: Buffer, { status, headers, cutAfter, cutOnce }: Override, response: ServerResponse): void {
    const cut = async () => {
      await cutOnce?.();
      response.socket?.end();
    };
    response.writeHead(status, { "content-length": raw.length, ...headers });
    if (cutAfter === undefined) response.end(raw);
    else if (cutAfter === 0) response.flushHeaders();
    else response.write(raw.subarray(0, cutAfter), () => void cut());
    this.#changed();
  }

  async #answer(call: Call): Promise<Override> {
    if (call.path === "/v1/hosts/enroll") {
      const claim = this.#verified(call);
      if (claim === undefined) return { status: 401, signedBy: "nobody" };
      const request = EnrollRequest.parse(JSON.parse(call.body));
      const secret = hostSecret(codeKey(claim.keyid, SIGNING_KEY), request.salt);
      if (this.secret !== "" && this.secret !== secret) return { status: 409 };
      this.secret = secret;
      this.enrolled.push(request);
      this.incarnation = 1;
      return { status: 200, body: this.#setup() };
    }
    const claim = this.#verified(call);
    if (claim === undefined) return { status: 401, signedBy: "nobody", body: { detail: "bad signature" } };
    if (Math.abs(claim.created * 1_000 - Date.now()) > 5 * 60_000) return { status: 401 };
    if (call.path === "/v1/hosts/w-1/join") {
      JoinRequest.parse(JSON.parse(call.body));
      this.incarnation += 1;
      return { status: 200, body: this.#setup() };
    }
    if (call.path === "/v1/hosts/w-1/secrets") return this.#sealed(JSON.parse(call.body));
    const snapshot = this.snapshots.answer(call);
    if (snapshot !== undefined) return snapshot;
    const chunk = CHUNK_PATH.exec(call.path);
    return chunk === null ? this.#report(call, "webhook") : this.#chunk(chunk, call);
  }

  /** Seals the secrets of an attempt for the key with which the host has enrolled. */
  async #sealed({ attempt, publicKey }: SecretsRequest): Promise<Override> {
    const values = Object.entries(this.secrets[attempt] ?? {});
    if (publicKey !== this.enrolled.at(-1)?.publicKey) return { status: 403 };
    const items = await Promise.all(
      values.map(async ([name, value]) => ({
        name,
        ...(await seal(value, publicKey, contextOfHanded("w-1", attempt, name))),
      })),
    );
    return { status: 200, body: { items } };
  }

  /** Stores a chunk that continues its stream; any other chunk changes nothing. */
  #chunk([, attempt = "", stream = ""]: RegExpExecArray, { raw, offset, query }: Call): Override {
    if (raw.length > MAX_LOG_CHUNK_BYTES) this.faults.push("a chunk is too large");
    const key = `${decodeURIComponent(attempt)} ${stream}`;
    const before = this.#stored.get(key) ?? Buffer.alloc(0);
    const isNext = offset === before.length && raw.length > 0;
    const after = isNext ? Buffer.concat([before, raw]) : before;
    const stamps = new URLSearchParams(query).get("stamps");
    if (this.setup.logStamps !== true && stamps !== null) this.faults.push("a chunk has stamps");
    if (this.setup.logStamps === true && isNext)
      this.#stamp(key, stamps?.split(".").map(Number), raw.length, raw.length);
    const lines = new URLSearchParams(query).get("lines");
    const counted = this.setup.logLines === true ? String(newlinesIn(raw)) : null;
    if (lines !== counted) this.faults.push(`a chunk has ${lines} lines instead of ${counted}`);
    this.#stored.set(key, after);
    return { status: 200, body: { stored: after.length } };
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { headers } = request;
    const nothing = { method: "GET", query: "", wait: null, body: "", raw: Buffer.alloc(0), offset: 0 };
    const call = { ...nothing, path: request.url ?? "", headers };
    this.calls.push(call);
    const refused = this.givesSockets ? this.override(call) : { status: 404 };
    const claim = this.#verified(call);
    if (refused !== undefined || claim === undefined) {
      const answer: Override = refused ?? { status: 401, signedBy: "nobody" };
      const body = JSON.stringify(answer.body ?? { detail: "no socket" });
      const sent = { ...this.#signed(call, answer, body), "content-length": String(body.length) };
      const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
      // Nobody else reads it: its end would never be seen, and the server would wait for it when it closes.
      socket.resume();
      socket.end(`HTTP/1.1 ${answer.status} Refused\r\n${lines.join("")}\r\n${body}`);
      return;
    }
    new WebSocketServer({ noServer: true }).handleUpgrade(request, socket, head, (line) => {
      const challenge = randomBytes(32).toString("base64");
      const key = sessionKey(keyOf(this.secret), claim.signature, challenge);
      this.sessions.set(line, { key, next: CHALLENGE + 1, awaited: 0 });
      line.send(sealed(key, "plane", CHALLENGE, challenge));
      this.sockets.add(line);
      line.on("close", () => this.sockets.delete(line));
      line.on("message", (data) => void this.#frame(line, String(data)));
      this.#changed();
    });
  }

  async #frame(line: WebSocket, frame: string): Promise<void> {
    if (frame === "ping") return line.send("pong");
    const session = this.sessions.get(line);
    const body = session && unsealed(session.key, "host", session.awaited, frame);
    if (session === undefined || body === undefined) {
      this.faults.push("a frame is not sealed as agreed");
      return line.close(4_401, "not a frame of this host");
    }
    session.awaited += 1;
    const { status, body: orders } = await this.#report({ body, wait: null }, "socket");
    if (status === 200) this.say(line, orders as object);
    else this.say(line, { refused: { status, detail: "refused" } });
    if (status !== 200) line.close(4_000 + status, "refused");
    this.#changed();
  }

  async #report({ body, wait }: Pick<Call, "body" | "wait">, by: "webhook" | "socket"): Promise<Override> {
    if (Buffer.byteLength(body) > MAX_REPORT_BYTES) this.faults.push("a report is larger than 1 MiB");
    const report = Report.parse(JSON.parse(body));
    if (report.incarnation !== this.incarnation) {
      return { status: 409, body: { code: "stale_incarnation", detail: "a later start has joined" } };
    }
    const last = this.reports.at(-1);
    // A newer report has overtaken this one: it is ignored, and the answer has the current orders.
    if (last?.incarnation === report.incarnation && report.seq <= last.seq) {
      return { status: 200, body: this.#orders(last.seq) };
    }
    if (by === "webhook" && !report.full) this.faults.push("a report by webhook is not full");
    const heldMs = wait === null ? 0 : Number(/^(\d+)ms$/.exec(wait)?.[1] ?? Number.NaN);
    this.holds = heldMs > 0 && this.revision === report.ordersSeen;
    this.reports.push(report);
    for (const attempt of report.attempts) this.#store(attempt);
    this.#changed();
    if (this.holds) await this.until("news", () => this.#hasNews(report), heldMs).catch(() => undefined);
    return { status: 200, body: this.#orders(report.seq) };
  }

  #hasNews(report: Report): boolean {
    return this.revision > report.ordersSeen || this.reports.at(-1) !== report;
  }

  #store({ id, log }: AttemptReport): void {
    for (const [stream, piece] of Object.entries(log ?? {})) {
      const key = `${id} ${stream}`;
      const before = this.#stored.get(key) ?? Buffer.alloc(0);
      const data = Buffer.from(piece.data ?? "", "base64");
      if (piece.from > before.length) this.faults.push(`${key} has a hole at ${before.length}`);
      const fresh = data.subarray(before.length - piece.from);
      if (fresh.length > 0) {
        this.#stamp(key, piece.stamps, data.length, fresh.length);
        this.#stored.set(key, Buffer.concat([before, fresh]));
      }
    }
  }

  /** Keeps the stamps of the last `fresh` of `bytes`. What has not been started has no stamps. */
  #stamp(key: string, packed: number[] | undefined, bytes: number, fresh: number): void {
    if (packed === undefined) return;
    const stamps = unpackStamps(packed);
    if (stampedBytes(stamps) !== bytes) this.faults.push(`${key} has stamps for other bytes`);
    const known = this.#stamps.get(key) ?? [];
    this.#stamps.set(key, [...known, ...cutStamps(stamps, bytes - fresh, bytes)]);
  }

  #orders(answers: number): Orders {
    const logs: Orders["logs"] = {};
    for (const [key, bytes] of this.#stored) {
      const [id = "", stream = ""] = key.split(" ");
      logs[id] = { ...logs[id], [stream]: bytes.length };
    }
    const { incarnation, revision, leaseMs } = this;
    const rest = { reportWithinMs: 10_000, attempts: [], logs, powerOff: false };
    return { incarnation, revision, answers, leaseMs, ...rest, ...this.orders };
  }

  #setup(): HostSetup {
    return {
      worker: "w-1",
      incarnation: this.incarnation,
      reportUrl: `${this.url}/v1/hosts/w-1/reports`,
      snapshotsUrl: `${this.url}/v1/hosts/w-1/snapshots`,
      ...(this.enrolled.at(-1)?.publicKey ? { secretsUrl: `${this.url}/v1/hosts/w-1/secrets` } : {}),
      ...(this.givesSockets ? { socketUrl: `${this.url}/v1/hosts/w-1/socket` } : {}),
      probe: { intervalMs: 10_000, boot: "true" },
      leaseMs: this.leaseMs,
      agent: { version: "0.0.0-test", sha256: "" },
      ...this.setup,
    };
  }

  /** Who signed a call; undefined unless the host signed it for its purpose. */
  #verified(call: Call): ClaimedRequest | undefined {
    const claim = claimOf(call);
    if (claim === undefined || claim.purpose !== purposeOf(call.method, call.path)) return undefined;
    const hex = /sha256:([0-9a-f]{64})$/.exec(call.path)?.[1];
    // The digest of a snapshot is compared with its name, and its bytes with the digest.
    if (call.method !== "PUT" || hex === undefined) {
      if (contentDigest(call.raw) !== claim.digest) return undefined;
    } else if (claim.digest !== `sha-256=:${Buffer.from(hex, "hex").toString("base64")}:`) return undefined;
    return isSignedWith(this.#keyOf(claim), claim) ? claim : undefined;
  }

  #keyOf({ purpose, keyid }: ClaimedRequest): Key {
    return purpose === "enroll" || keyid.includes(".") ? codeKey(keyid, SIGNING_KEY) : keyOf(this.secret);
  }

  #signed(call: Call, answer: Override, body: string): object {
    const { status, signedBy, signedFor = call, createdAt = Date.now() } = answer;
    const claim = claimOf(signedFor);
    if (claim === undefined || signedBy === "nobody") return {};
    const key = signedBy === "stranger" ? randomBytes(32) : this.#keyOf(claim);
    const more = { created: Math.floor(createdAt / 1_000), keyid: claim.keyid };
    return signAnswer(answerKey(key, claim.signature), { status, body }, more);
  }

  #changed(): void {
    for (const check of [...this.#checks]) check();
  }
}

function claimOf({ method, path, query, headers }: Call): ClaimedRequest | undefined {
  return claimedRequest({ method, path, query }, (name) => {
    const value = headers[name];
    return typeof value === "string" ? value : undefined;
  });
}
