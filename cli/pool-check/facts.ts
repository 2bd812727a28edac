// How does a check read from a cloud, so that each answer is a fact or a refusal with its reason?
import { setTimeout as sleep } from "node:timers/promises";
import type { ZodType } from "zod";
import type { ProviderFailure } from "../../src/core/provider-answers.ts";
import { askingOf, type JsonApi, type JsonCall } from "../../src/providers/json-api.ts";
import type { Meaning } from "../../src/providers/meanings.ts";
import type { Veil } from "../../src/providers/veil.ts";
import { CALL_TIMEOUT_MS, checked, withDeadline } from "../../src/providers/wire.ts";
import { clause } from "../../src/shared/words.ts";
import { cut } from "../terminal/text.ts";
import { type Finding, missing, unknown } from "./finding.ts";

/** Why a cloud did not say what it was asked. */
export interface Refusal {
  class: ProviderFailure["class"];
  /** The cloud's own code and status, if it has answered. */
  code: string | undefined;
  status: number | undefined;
  /** On one line, and without secrets. */
  text: string;
  /** What to do. Empty: no table says it. */
  advice: string;
}

/** What a cloud has said. */
export type Fact<T> = { data: T } | { refusal: Refusal };

/** Reads a part of a cloud. */
export type Reader = <T>(schema: ZodType<T>, request: Omit<JsonCall, "veil">) => Promise<Fact<T>>;

/** The most tries of a call that was one too many, and the longest pause before the next try. */
const MAX_TRIES = 3;
const LONGEST_PAUSE_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_TEXT_CHARS = 1_024;

/** Makes a call, and makes it again if it was one too many: a check makes several calls in a row. */
export async function patiently<T extends object>(make: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const called = await make();
    const pauseMs = pauseBefore(called);
    if (pauseMs === undefined || tries === MAX_TRIES) return called;
    await sleep(pauseMs);
  }
}

function pauseBefore(called: object): number | undefined {
  const { failure }: { failure?: ProviderFailure } = called;
  if (failure?.class !== "rate_limit") return undefined;
  return Math.min(LONGEST_PAUSE_MS, failure.retryAfterMs ?? FIRST_PAUSE_MS);
}

/** Reads from a cloud with a JSON API. Each call has a deadline of its own. */
export function readerOf(api: JsonApi, veil: Veil): Reader {
  return async (schema, request) => {
    const called = await patiently(() =>
      withDeadline(CALL_TIMEOUT_MS, (signal) => askingOf(api, veil, signal).call(request)),
    );
    if ("failure" in called) return { refusal: refusalOf(called, api.meaningOf, veil) };
    const read = checked(schema, called.body, veil);
    if ("data" in read) return read;
    const text = `the answer to ${request.method} ${request.path} is invalid: ${read.fault}`;
    return { refusal: { class: "temporary", code: undefined, status: undefined, text, advice: "" } };
  };
}

interface Failed {
  failure: ProviderFailure;
  code?: string | undefined;
  status?: number;
  message?: string;
}

/** The reason of a failed call in few words, with the advice that the cloud's tables of errors have. */
export function refusalOf(
  { failure, code, status, message }: Failed,
  meaningOf: (error: { code: string | undefined; status: number; message: string }) => Meaning | undefined,
  veil: Veil,
): Refusal {
  const { class: cls, text } = failure;
  if (status === undefined) {
    return { class: cls, code, status, text: shortened(text), advice: "" };
  }
  const said = clause(veil(message ?? ""));
  const advice = meaningOf({ code, status, message: message ?? "" })?.advice ?? "";
  const words = code === undefined ? `answer ${status}: ${said}` : `${code}: ${said}`;
  return { class: cls, code, status, text: shortened(words), advice };
}

function shortened(text: string): string {
  const line = text.replace(/Encoded authorization failure message: \S+/g, "").replace(/\s+/g, " ");
  return cut(line.trim(), MAX_TEXT_CHARS);
}

/**
 * What a refusal says about what was looked for. A cloud that has no time, or no room, now says nothing.
 * `todo`: what to do if the cloud does not know the credentials, or its tables of errors have no advice.
 */
export function refused(check: string, { class: cls, status, text, advice }: Refusal, todo = ""): Finding {
  const isFinal = cls === "auth" || cls === "invalid" || cls === "quota";
  const isStranger = status === 401 && todo !== "";
  return (isFinal ? missing : unknown)(check, text, isStranger ? todo : advice || todo);
}
