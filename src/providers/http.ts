import { type ZodType, z } from "zod";
import type { CreateAnswer, DestroyAnswer, ListAnswer, ProviderFailure } from "../core/messages.ts";
import type { ProviderConfig } from "../schema/pool.ts";
import { type CreateInstance, Instance, ProviderProblem, UnreadPage } from "../schema/provider.ts";
import { formatDuration } from "../shared/duration.ts";
import { MAX_PROVIDER_ANSWER_BYTES, MAX_RETRY_AFTER_MS, MAX_TEXT_CHARS } from "../shared/limits.ts";
import { because } from "../shared/words.ts";
import { listPages, type ReadPage } from "./pages.ts";
import type { Provider } from "./provider.ts";
import { CODES, type Veil, veilOf } from "./veil.ts";

/**
 * After this a call counts as failed, and a listing with all its pages. Whether it had its effect, a listing
 * will show.
 */
const CALL_TIMEOUT_MS = 30_000;

/** What a service of one's own must be given to show in its listing what it has just done. */
const LIST_CONSISTENCY_MS = 1_000;

/** Characters that tell what is wrong with an answer: a tag's name in it may be of any length. */
const MAX_FAULT_CHARS = 512;
const MAX_ID_CHARS = 256;

/** What is to be named of a machine that cannot be read otherwise. */
const NamedMachine = z.object({ id: z.string().min(1) });

/**
 * Statuses that are about what was sent, whoever answers. Any other may come from a proxy while the service
 * restarts (a page for 404, 403 or 302), and `invalid` holds a type until somebody puts the pool anew: that
 * takes the service's own word.
 */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * Statuses of a call that nobody has acted on, whoever answers: it was not understood, not allowed, sent
 * elsewhere, or is one too many. All but a time-out, and a conflict with what exists.
 */
function isRefusal(status: number): boolean {
  return status >= 300 && status < 500 && ![408, 409, 425, 499].includes(status);
}

type Called = { status: number; body: string } | { failure: ProviderFailure };
type Call = (method: string, path: string, body?: object) => Promise<Called>;

/**
 * A cloud behind an HTTP service of one's own, the loopback cloud too (host-protocol.md#provider-contract).
 */
export function httpProvider(
  config: ProviderConfig,
  now: () => number,
  timeoutMs = CALL_TIMEOUT_MS,
): Provider {
  const veil = veilOf([config.secret]);
  const within = <T>(work: (call: Call) => Promise<T>, by = veil): Promise<T> =>
    withDeadline(timeoutMs, (signal) =>
      work((method, path, body) => callService({ config, now, signal, veil: by }, method, path, body)),
    );
  return {
    capabilities: { listConsistencyMs: LIST_CONSISTENCY_MS },
    async create(wanted: CreateInstance): Promise<CreateAnswer> {
      const veilOfCreate = veilOf([config.secret, ...(wanted.userData.match(CODES) ?? [])]);
      const called = await within((call) => call("POST", "/instances", wanted), veilOfCreate);
      if ("failure" in called) return { kind: "failed", failure: called.failure };
      const instance = parsed(Instance, called.body, veilOfCreate);
      if ("fault" in instance) return unreadable("POST /instances", instance.fault);
      return { kind: "created", instance: instance.data };
    },
    async list(tag: string): Promise<ListAnswer> {
      const path = `/instances?tag=${encodeURIComponent(tag)}`;
      return within((call) => listPages((cursor) => readPage(call, path, cursor, veil), now()));
    },
    async destroy(instance: string): Promise<DestroyAnswer> {
      const called = await within((call) => call("DELETE", `/instances/${encodeURIComponent(instance)}`));
      // 404 is as good as 200, and neither is proof.
      if ("failure" in called) return { kind: "failed", failure: called.failure };
      return called.status === 404 ? { kind: "asked", unknown: true } : { kind: "asked" };
    },
  };
}

async function readPage(
  call: Call,
  path: string,
  cursor: string | undefined,
  veil: Veil,
): Promise<ReadPage | { failure: ProviderFailure }> {
  const after = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
  const called = await call("GET", path + after);
  if ("failure" in called) return called;
  const page = parsed(UnreadPage, called.body, veil);
  if ("fault" in page) return { failure: unreadable("GET /instances", page.fault).failure };
  return { ...page.data, ...readItems(page.data.items, veil) };
}

/**
 * The machines of a page. One that cannot be read is left out and told of: it may exist for long, and without
 * a listing no machine of the pool would be looked after meanwhile.
 */
function readItems(all: readonly unknown[], veil: Veil): Pick<ReadPage, "items" | "gap"> {
  const items: Instance[] = [];
  const faults: string[] = [];
  for (const one of all) {
    const read = checked(Instance, one, veil);
    if ("data" in read) items.push(read.data);
    else faults.push(`${calledBy(one, veil)} is not as agreed: ${read.fault}`);
  }
  const [first] = faults;
  if (first === undefined) return { items };
  return { items, gap: faults.length === 1 ? first : `${first}, nor are ${faults.length - 1} more` };
}

function calledBy(machine: unknown, veil: Veil): string {
  const named = NamedMachine.safeParse(machine);
  return named.success ? `machine ${veil(named.data.id).slice(0, MAX_ID_CHARS)}` : "a machine without an id";
}

async function withDeadline<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  // Not `AbortSignal.timeout`: its timer cannot be ended, and keeps the object awake, and billed, until it
  // fires.
  const controller = new AbortController();
  const late = new Fault(`took too long to answer: more than ${formatDuration(ms)}`);
  const timer = setTimeout(() => controller.abort(late), ms);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** What a call needs beside itself. `veil`: what it sends that nobody shall read. */
interface CallContext {
  config: ProviderConfig;
  now: () => number;
  signal: AbortSignal;
  veil: Veil;
}

async function callService(
  { config, now, signal, veil }: CallContext,
  method: string,
  path: string,
  body?: object,
): Promise<Called> {
  try {
    const response = await fetch(`${config.url.replace(/\/$/, "")}${path}`, {
      method,
      headers: { authorization: `Bearer ${config.secret}`, "content-type": "application/json" },
      signal,
      // The secret is for this address alone, and a create that is followed elsewhere may become a read.
      redirect: "manual",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await boundedText(response);
    const gone = method === "DELETE" && response.status === 404;
    return response.ok || gone
      ? { status: response.status, body: text }
      : { failure: classify(response, text, now(), veil) };
  } catch (error) {
    return { failure: unreached(config.url, signal.aborted ? signal.reason : error, veil) };
  }
}

/** What is wrong with how the service answers, in words that follow its name. */
class Fault extends Error {}

/** What the platform says of a connection that was refused or lost: words that help nobody. */
const NO_CONNECTION = /^(network connection lost|fetch failed|terminated)\b/i;

/**
 * A call that had no answer. An internal error is what workerd says of a name that has no address, and of a
 * failed TLS handshake: both come before the request. Whatever fails later has lost its connection.
 */
function unreached(url: string, error: unknown, veil: Veil): ProviderFailure {
  const { protocol, hostname, origin, pathname } = new URL(url);
  const where = `${origin}${pathname.replace(/\/$/, "")}`;
  if (error instanceof Fault)
    return { class: "temporary", text: `the provider at ${where} ${error.message}`, unreached: true };
  const reason = error instanceof Error ? error.message : String(error);
  if (!/^internal error/i.test(reason)) {
    const text = because(`nobody answered at ${where}`, NO_CONNECTION.test(reason) ? "" : veil(reason));
    return { class: "temporary", text, unreached: true };
  }
  const unnamed = `its name ${hostname} cannot be resolved`;
  const why = protocol === "https:" ? `${unnamed}, or its certificate is not accepted` : unnamed;
  const text = `the provider could not be reached: ${why}`;
  return { class: "temporary", text, refused: true, unreached: true };
}

/** The text of an answer. Rejects if it is longer than any that is meant, without reading on. */
async function boundedText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_PROVIDER_ANSWER_BYTES) {
      throw new Fault(`gave an answer that is longer than ${MAX_PROVIDER_ANSWER_BYTES} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** An error answer by the service's own word, or by its status where it says none. */
function classify(response: Response, body: string, at: number, veil: Veil): ProviderFailure {
  const said = parsed(ProviderProblem, body, veil);
  const problem = "fault" in said ? null : said.data;
  const retryAfterMs = problem?.retryAfterMs ?? retryAfterOf(response, at);
  const later =
    retryAfterMs === undefined ? {} : { retryAfterMs: Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) };
  const isRefused = isRefusal(response.status) || (problem !== null && problem.class !== "temporary");
  const refused = isRefused ? { refused: true as const } : {};
  if (problem !== null)
    return { ...problem, text: veil(problem.text).slice(0, MAX_TEXT_CHARS), ...later, ...refused };
  const text = `the provider answered ${response.status}: ${veil(plainly(body))}`.slice(0, MAX_TEXT_CHARS);
  if (response.status === 429) return { class: "rate_limit", text, ...later, ...refused };
  return { class: REFUSALS.has(response.status) ? "invalid" : "temporary", text, ...later, ...refused };
}

/** JSON has many ways to write the same text. Written anew it has one, in which what is secret is found. */
function plainly(body: string): string {
  const json = jsonOf(body);
  return json === undefined ? body : JSON.stringify(json.value);
}

/** `Retry-After` in seconds or as a date of the provider's clock (RFC 9110 §10.2.3), in milliseconds. */
function retryAfterOf(response: Response, at: number): number | undefined {
  const text = response.headers.get("retry-after");
  if (text === null) return undefined;
  const theirNow = Date.parse(response.headers.get("date") ?? "") || at;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - theirNow;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** An answer that is none: whether the call has had its effect, a listing will show. */
function unreadable(call: string, fault: string): { kind: "failed"; failure: ProviderFailure } {
  return {
    kind: "failed",
    failure: { class: "temporary", text: `the provider's answer to ${call} is not as agreed: ${fault}` },
  };
}

type Parsed<T> = { data: T } | { fault: string };

/** What an answer says, or what is wrong with it. Never its text: a create's may repeat what is secret. */
function parsed<T>(schema: ZodType<T>, body: string, veil: Veil): Parsed<T> {
  const json = jsonOf(body);
  if (json === undefined) return { fault: body === "" ? "it is empty" : "it is no JSON" };
  return checked(schema, json.value, veil);
}

function checked<T>(schema: ZodType<T>, value: unknown, veil: Veil): Parsed<T> {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return { data };
  const [issue] = error.issues;
  const fault = veil(`\`${issue?.path.join(".")}\` ${issue?.message}`);
  return { fault: fault.slice(0, MAX_FAULT_CHARS) };
}

function jsonOf(body: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(body) };
  } catch {
    return undefined;
  }
}
