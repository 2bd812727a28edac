import { MAX_TEXT_CHARS } from "../core/limits.ts";
import type { CreateAnswer, DestroyAnswer, ListAnswer, ProviderFailure } from "../core/messages.ts";
import type { ProviderConfig } from "../schema/pool.ts";
import { type CreateInstance, Instance, InstanceList, ProviderProblem } from "../schema/provider.ts";
import type { Provider } from "./provider.ts";

/** After this a call counts as failed. Whether it had its effect, a listing will show. */
const CALL_TIMEOUT_MS = 30_000;

/** What a service of one's own must be given to show in its listing what it has just done. */
const LIST_CONSISTENCY_MS = 1_000;

type Called = { status: number; body: string } | { failure: ProviderFailure };

/**
 * A cloud behind an HTTP service of one's own, the loopback cloud too (`host-protocol.md`, the provider
 * contract).
 */
export function httpProvider(config: ProviderConfig, now: () => number): Provider {
  const call = (method: string, path: string, body?: object) => callService(config, now, method, path, body);
  return {
    capabilities: { listConsistencyMs: LIST_CONSISTENCY_MS },
    async create(wanted: CreateInstance): Promise<CreateAnswer> {
      const called = await call("POST", "/instances", wanted);
      if ("failure" in called) return { kind: "failed", failure: called.failure };
      const instance = parsed(Instance, called.body);
      return instance === null ? unreadable("POST /instances") : { kind: "created", instance };
    },
    async list(tag: string): Promise<ListAnswer> {
      const beganAt = now();
      const called = await call("GET", `/instances?tag=${encodeURIComponent(tag)}`);
      if ("failure" in called) return { kind: "failed", failure: called.failure };
      const list = parsed(InstanceList, called.body);
      return list === null ? unreadable("GET /instances") : { kind: "listed", beganAt, items: list.items };
    },
    async destroy(instance: string): Promise<DestroyAnswer> {
      const called = await call("DELETE", `/instances/${encodeURIComponent(instance)}`);
      // 404 is as good as 200, and neither is proof.
      if ("failure" in called) return { kind: "failed", failure: called.failure };
      return { kind: "asked" };
    },
  };
}

async function callService(
  config: ProviderConfig,
  now: () => number,
  method: string,
  path: string,
  body?: object,
): Promise<Called> {
  // Not `AbortSignal.timeout`: its timer cannot be ended, and keeps the object awake, and billed, until it
  // fires.
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error("it took too long")), CALL_TIMEOUT_MS);
  try {
    const response = await fetch(`${config.url.replace(/\/$/, "")}${path}`, {
      method,
      headers: { authorization: `Bearer ${config.secret}`, "content-type": "application/json" },
      signal: controller.signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const gone = method === "DELETE" && response.status === 404;
    return response.ok || gone
      ? { status: response.status, body: text }
      : { failure: classify(response, text, now()) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const text = `the provider could not be reached: ${reason}`;
    return { failure: { class: "temporary", text } };
  } finally {
    clearTimeout(timer);
  }
}

/** An error answer by the service's own word, or by its status where it says none. */
function classify(response: Response, body: string, at: number): ProviderFailure {
  const retryAfterMs = retryAfterOf(response, at);
  const later = retryAfterMs === undefined ? {} : { retryAfterMs };
  const problem = parsed(ProviderProblem, body);
  if (problem !== null) return { ...later, ...problem, text: problem.text.slice(0, MAX_TEXT_CHARS) };
  const text = `the provider answered ${response.status}: ${body.slice(0, MAX_TEXT_CHARS)}`;
  if (response.status === 429) return { class: "rate_limit", text, ...later };
  return { class: response.status >= 500 ? "temporary" : "invalid", text, ...later };
}

/** `Retry-After` in seconds or as a date (RFC 9110 §10.2.3), in milliseconds. */
function retryAfterOf(response: Response, at: number): number | undefined {
  const text = response.headers.get("retry-after");
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - at;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

function unreadable(call: string): { kind: "failed"; failure: ProviderFailure } {
  return {
    kind: "failed",
    failure: { class: "temporary", text: `the provider's answer to ${call} is not as agreed` },
  };
}

function parsed<T>(
  schema: { safeParse(value: unknown): { success: boolean; data?: T } },
  body: string,
): T | null {
  try {
    const result = schema.safeParse(JSON.parse(body));
    return result.success && result.data !== undefined ? result.data : null;
  } catch {
    return null;
  }
}
