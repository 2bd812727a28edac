// How is a provider behind an HTTP service called? Each call has a deadline and a size limit, secrets are
// removed from its texts, and its answer is validated.
import { type ZodType, z } from "zod";
import type { CreateAnswer, DestroyAnswer, ListAnswer, ProviderFailure } from "../core/messages.ts";
import { jsonOf } from "../schema/json.ts";
import type { ProviderConfig } from "../schema/pool/provider-config.ts";
import { type CreateInstance, Instance, ProviderProblem, UnreadPage } from "../schema/provider.ts";
import { formatDuration } from "../shared/duration.ts";
import { MAX_PROVIDER_ANSWER_BYTES, MAX_RETRY_AFTER_MS, MAX_TEXT_CHARS } from "../shared/limits.ts";
import { because, errorText } from "../shared/words.ts";
import { listPages, type ReadPage } from "./pages.ts";
import type { Provider } from "./provider.ts";
import { CODES, type Veil, veilOf } from "./veil.ts";

/** The timeout of one call, or of a listing with all its pages. Later listings show what a late call did. */
const CALL_TIMEOUT_MS = 30_000;

/** How long a change may take to show in the service's listing. */
export const LIST_CONSISTENCY_MS = 1_000;

/** The longest description of a fault that is reported. It may contain the name of a tag, however long. */
const MAX_FAULT_CHARS = 512;
const MAX_ID_CHARS = 256;

/** Reads the id of a machine whose other fields are invalid. */
const NamedMachine = z.object({ id: z.string().min(1) });

/**
 * Statuses that mean an invalid request, whoever answers. Any other status, such as 302, 403 or 404, may come
 * from a proxy while the service restarts. Such a status means `invalid` only if the service itself says so:
 * after `invalid`, no machine of the type is requested until the pool is configured again.
 */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 422]);

function classOf(status: number): ProviderFailure["class"] {
  if (status === 429) return "rate_limit";
  return REFUSALS.has(status) ? "invalid" : "temporary";
}

/**
 * Whether a status proves, whoever answers, that the call had no effect. Timeouts and conflicts prove
 * nothing.
 */
function isRefusal(status: number): boolean {
  return status >= 300 && status < 500 && ![408, 409, 425, 499].includes(status);
}

type Called = { status: number; body: string } | { failure: ProviderFailure };
type Call = (method: string, path: string, body?: object) => Promise<Called>;

/** A provider whose secret is at hand. */
export type KnownProvider = ProviderConfig & { secret: string };

/** A cloud behind an HTTP service, such as the loopback cloud (host-protocol.md#provider-contract). */
export function httpProvider(
  config: KnownProvider,
  now: () => number,
  timeoutMs = CALL_TIMEOUT_MS,
): Provider {
  const veil = veilOf([config.secret]);
  const within = <T>(work: (call: Call) => Promise<T>, by = veil): Promise<T> =>
    withDeadline(timeoutMs, (signal) => work(callerOf(config, now, signal, by)));
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
      // 404 counts like 200. Neither proves that the machine is gone.
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
 * The machines of a page. An invalid machine is omitted, and reported as a gap. If it made the listing fail,
 * the whole pool would be stuck for as long as the machine is listed.
 */
function readItems(all: readonly unknown[], veil: Veil): Pick<ReadPage, "items" | "gap"> {
  const items: Instance[] = [];
  const faults: string[] = [];
  for (const one of all) {
    const read = checked(Instance, one, veil);
    if ("data" in read) items.push(read.data);
    else faults.push(`${nameOf(one, veil)} is invalid: ${read.fault}`);
  }
  const [first] = faults;
  if (first === undefined) return { items };
  return { items, gap: faults.length === 1 ? first : `${first}, and ${faults.length - 1} more are invalid` };
}

function nameOf(machine: unknown, veil: Veil): string {
  const named = NamedMachine.safeParse(machine);
  return named.success ? `machine ${veil(named.data.id).slice(0, MAX_ID_CHARS)}` : "a machine without an id";
}

async function withDeadline<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  // Not `AbortSignal.timeout`: its timer cannot be cleared, and would keep the object awake and billed.
  const controller = new AbortController();
  const late = new Fault(`took too long to answer: more than ${formatDuration(ms)}`);
  const timer = setTimeout(() => controller.abort(late), ms);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Makes the function that calls the service. `veil` hides the secrets that a call sends. */
function callerOf(config: KnownProvider, now: () => number, signal: AbortSignal, veil: Veil): Call {
  return async (method, path, body) => {
    try {
      const response = await fetch(`${config.url.replace(/\/$/, "")}${path}`, {
        method,
        headers: { authorization: `Bearer ${config.secret}`, "content-type": "application/json" },
        signal,
        // The secret is for this address only, and a redirect can turn the POST of a create into a GET.
        redirect: "manual",
        body: JSON.stringify(body),
      });
      const text = await boundedText(response);
      const gone = method === "DELETE" && response.status === 404;
      return response.ok || gone
        ? { status: response.status, body: text }
        : { failure: classify(response, text, now(), veil) };
    } catch (error) {
      return { failure: unreached(config.url, signal.aborted ? signal.reason : error, veil) };
    }
  };
}

/** A fault of the service. Its message is the end of a sentence that begins with "the provider at …". */
class Fault extends Error {}

/** The platform's unhelpful messages for a refused or lost connection. */
const NO_CONNECTION = /^(network connection lost|fetch failed|terminated)\b/i;

/**
 * The failure of a call without an answer. workerd reports an unresolvable name and a failed TLS handshake as
 * an internal error; both happen before the request is sent.
 */
function unreached(url: string, error: unknown, veil: Veil): ProviderFailure {
  const { protocol, hostname, origin, pathname } = new URL(url);
  const where = `${origin}${pathname.replace(/\/$/, "")}`;
  if (error instanceof Fault)
    return { class: "temporary", text: `the provider at ${where} ${error.message}`, unreached: true };
  const reason = errorText(error);
  if (!/^internal error/i.test(reason)) {
    const text = because(`nobody answered at ${where}`, NO_CONNECTION.test(reason) ? "" : veil(reason));
    return { class: "temporary", text, unreached: true };
  }
  const unnamed = `its name ${hostname} cannot be resolved`;
  const why = protocol === "https:" ? `${unnamed}, or its certificate is not accepted` : unnamed;
  const text = `the provider could not be reached: ${why}`;
  return { class: "temporary", text, refused: true, unreached: true };
}

/** Reads an answer as text. Rejects as soon as the answer is too long. */
async function boundedText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_PROVIDER_ANSWER_BYTES) {
      throw new Fault(`gave an answer of more than ${MAX_PROVIDER_ANSWER_BYTES} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Classifies an error answer by the service's own class, or else by its status. */
function classify(response: Response, body: string, at: number, veil: Veil): ProviderFailure {
  const answer = parsed(ProviderProblem, body, veil);
  const problem = "fault" in answer ? null : answer.data;
  const retryAfterMs = problem?.retryAfterMs ?? retryAfterOf(response, at);
  const isRefused = isRefusal(response.status) || (problem !== null && problem.class !== "temporary");
  const unknown = `the provider answered ${response.status}: ${veil(plainly(body))}`;
  return {
    ...(problem ?? { class: classOf(response.status) }),
    text: (problem === null ? unknown : veil(problem.text)).slice(0, MAX_TEXT_CHARS),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs: pauseOf(retryAfterMs) }),
    ...(isRefused ? { refused: true } : {}),
  };
}

/** A pause that a provider asks for: bounded, and in whole milliseconds, as all stored instants are. */
function pauseOf(retryAfterMs: number): number {
  return Math.ceil(Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
}

/** Normalizes JSON, so that the veil finds a secret in whatever way the JSON spells it. */
function plainly(body: string): string {
  const json = jsonOf(body);
  return json === undefined ? body : JSON.stringify(json);
}

/** `Retry-After` (seconds, or a date by the provider's clock, RFC 9110 §10.2.3) in milliseconds. */
function retryAfterOf(response: Response, at: number): number | undefined {
  const text = response.headers.get("retry-after");
  if (text === null) return undefined;
  const theirNow = Date.parse(response.headers.get("date") ?? "") || at;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - theirNow;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** The failure for an invalid answer. A later listing shows whether the call took effect. */
function unreadable(call: string, fault: string): { kind: "failed"; failure: ProviderFailure } {
  const text = `the provider's answer to ${call} is invalid: ${fault}`;
  return { kind: "failed", failure: { class: "temporary", text } };
}

type Parsed<T> = { data: T } | { fault: string };

/** Parses an answer, or says what is wrong with it. Never quotes the answer, which may repeat a secret. */
function parsed<T>(schema: ZodType<T>, body: string, veil: Veil): Parsed<T> {
  const json = jsonOf(body);
  if (json === undefined) return { fault: body === "" ? "it is empty" : "it is not valid JSON" };
  return checked(schema, json, veil);
}

function checked<T>(schema: ZodType<T>, value: unknown, veil: Veil): Parsed<T> {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return { data };
  const [issue] = error.issues;
  const fault = veil(`\`${issue?.path.join(".")}\` ${issue?.message}`);
  return { fault: fault.slice(0, MAX_FAULT_CHARS) };
}
