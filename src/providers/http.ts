// How is a provider behind an HTTP service called, and what do its answers mean?
import { z } from "zod";
import type {
  ConsoleAnswer,
  CreateAnswer,
  DestroyAnswer,
  FindAnswer,
  ListAnswer,
  ProviderFailure,
} from "../core/provider-answers.ts";
import { jsonOf } from "../schema/json.ts";
import type { HttpConfig } from "../schema/pool/provider-config.ts";
import {
  ConsoleText,
  type CreateInstance,
  Instance,
  ProviderProblem,
  UnreadPage,
} from "../schema/provider.ts";
import { MAX_TEXT_CHARS } from "../shared/limits.ts";
import { gapOf, listPages, type ReadPage } from "./pages.ts";
import type { KnownMachine, Provider } from "./provider.ts";
import { CODES, type Veil, veilOf } from "./veil.ts";
import {
  type Answered,
  CALL_TIMEOUT_MS,
  callOnce,
  checked,
  parsed,
  pauseOf,
  provesRefusal,
  retryAfterOf,
  unreadable,
  withDeadline,
} from "./wire.ts";

const MAX_ID_CHARS = 256;
/** The service works on a machine, and has none to show yet. */
const ACCEPTED = 202;
const PENDING_PAUSE_MS = 5_000;

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

type Called = Answered | { failure: ProviderFailure };
/** `taken`: statuses that are answers, besides those of success. */
type Call = (method: string, path: string, body?: object, taken?: readonly number[]) => Promise<Called>;

/** A machine of DELETE that the service does not know. */
const NO_MACHINE: readonly number[] = [404];
/** No such machine, or no such call: services need not have it. */
const NO_CONSOLE: readonly number[] = [404, 405, 501];

/** A provider whose secret is at hand. */
export type KnownProvider = HttpConfig & { secret: string };

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
    async create(wanted: CreateInstance): Promise<CreateAnswer> {
      const veilOfCreate = veilOf([config.secret, ...(wanted.userData.match(CODES) ?? [])]);
      const called = await within((call) => call("POST", "/instances", wanted), veilOfCreate);
      if ("failure" in called) return { kind: "failed", failure: called.failure };
      if (called.status === ACCEPTED) return pendingFrom(called, now());
      const instance = parsed(Instance, called.body, veilOfCreate);
      if ("fault" in instance) return unreadable("POST /instances", instance.fault);
      return { kind: "created", instance: instance.data };
    },
    async list(tag: string): Promise<ListAnswer> {
      const path = `/instances?tag=${encodeURIComponent(tag)}`;
      return within((call) => listPages((cursor) => readPage(call, path, cursor, veil), now()));
    },
    async find(): Promise<FindAnswer> {
      return { kind: "unsure", text: "the service can only list its machines" };
    },
    async destroy({ id }: KnownMachine): Promise<DestroyAnswer> {
      if (id === null) return { kind: "asked" };
      const called = await within((call) =>
        call("DELETE", `/instances/${encodeURIComponent(id)}`, undefined, NO_MACHINE),
      );
      // 404 counts like 200. Neither proves that the machine is gone.
      if ("failure" in called) return { kind: "failed", failure: called.failure };
      return called.status === 404 ? { kind: "asked", unknown: true } : { kind: "asked" };
    },
    async console({ id }): Promise<ConsoleAnswer> {
      const path = `/instances/${encodeURIComponent(id)}/console`;
      const called = await within((call) => call("GET", path, undefined, NO_CONSOLE));
      if ("failure" in called) return { kind: "failed", failure: called.failure };
      if (NO_CONSOLE.includes(called.status)) {
        return { kind: "none", text: `the pool's provider has no console of ${id} to show` };
      }
      const read = parsed(ConsoleText, called.body, veil);
      if ("fault" in read) return unreadable("GET /instances/{id}/console", read.fault);
      const { text, truncated: isCut } = read.data;
      return { kind: "console", text, isCut, updatedAt: null };
    },
  };
}

/** A create that the service still works on: the same call is repeated after the pause that it asks for. */
function pendingFrom(answered: Answered, at: number): CreateAnswer {
  const retryAfterMs = pauseOf(retryAfterOf(answered, at) ?? PENDING_PAUSE_MS);
  return { kind: "pending", retryAfterMs, text: "the provider still works on the machine" };
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
  const gap = gapOf(faults);
  return gap === undefined ? { items } : { items, gap };
}

function nameOf(machine: unknown, veil: Veil): string {
  const named = NamedMachine.safeParse(machine);
  return named.success ? `machine ${veil(named.data.id).slice(0, MAX_ID_CHARS)}` : "a machine without an id";
}

/** Makes the function that calls the service. `veil` hides the secrets that a call sends. */
function callerOf(config: KnownProvider, now: () => number, signal: AbortSignal, veil: Veil): Call {
  const service = config.url;
  const headers = { authorization: `Bearer ${config.secret}`, "content-type": "application/json" };
  return async (method, path, body, taken = []) => {
    const url = `${service.replace(/\/$/, "")}${path}`;
    const request = { service, method, url, headers, body: body && JSON.stringify(body), veil };
    const answered = await callOnce(request, signal);
    if ("failure" in answered) return answered;
    const { status } = answered;
    const isTaken = (status >= 200 && status < 300) || taken.includes(status);
    return isTaken ? answered : { failure: classify(answered, now(), veil) };
  };
}

/** Classifies an error answer by the service's own class, or else by its status. */
function classify(response: Answered, at: number, veil: Veil): ProviderFailure {
  const { body } = response;
  const answer = parsed(ProviderProblem, body, veil);
  const problem = "fault" in answer ? null : answer.data;
  const retryAfterMs = problem?.retryAfterMs ?? retryAfterOf(response, at);
  const refused = provesRefusal(response.status) || (problem !== null && problem.class !== "temporary");
  const unknown = `the provider answered ${response.status}: ${veil(plainly(body))}`;
  return {
    ...(problem ?? { class: classOf(response.status) }),
    text: (problem === null ? unknown : veil(problem.text)).slice(0, MAX_TEXT_CHARS),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs: pauseOf(retryAfterMs) }),
    ...(refused ? { refused: true } : {}),
  };
}

/** Normalizes JSON, so that the veil finds a secret in whatever way the JSON spells it. */
function plainly(body: string): string {
  const json = jsonOf(body);
  return json === undefined ? body : JSON.stringify(json);
}
