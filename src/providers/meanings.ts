// What does an error of a cloud mean? Each cloud has tables of meanings; this is what all tables share.
import type { ProviderFailure } from "../core/provider-answers.ts";
import { MAX_TEXT_CHARS } from "../shared/limits.ts";
import { clause } from "../shared/words.ts";
import type { Veil } from "./veil.ts";
import { provesRefusal } from "./wire.ts";

/**
 * What an error concerns. `offer`: the type in the zone that was named, or the whole type. `named`: the type
 * if the message names it, else all machines. `zone`: the zone that was named, or the whole type.
 */
type Concerns = "all" | "group" | "type" | "offer" | "zone" | "named";

/** What an error means. */
export interface Meaning {
  class: ProviderFailure["class"];
  concerns: Concerns;
  /** A longer or shorter pause than the class has. */
  retryAfterMs?: number;
  /** The call may have had an effect all the same. */
  mayHaveWorked?: true;
  /** What to do, for people. */
  advice?: string;
}

/** The meanings that clouds have in common. */
export const RATE: Meaning = { class: "rate_limit", concerns: "all" };
export const NO_ROOM: Meaning = { class: "capacity", concerns: "offer" };
export const QUOTA: Meaning = { class: "quota", concerns: "all" };
export const AUTH: Meaning = { class: "auth", concerns: "all" };
export const INVALID: Meaning = { class: "invalid", concerns: "named" };
export const OUTAGE: Meaning = { class: "temporary", concerns: "all", mayHaveWorked: true };

/** An error answer. `code` is undefined if the answer has none, as that of a proxy. */
export interface CloudError {
  status: number;
  code: string | undefined;
  message: string;
}

/** The most of an answer without a code that is shown. */
const MAX_QUOTED_CHARS = 200;

/** The beginning of an answer without a code, on one line. */
export function quoted(body: string, veil: Veil): string {
  const said = veil(body).trim().replace(/\s+/g, " ").slice(0, MAX_QUOTED_CHARS);
  return said === "" ? "its answer is empty" : said;
}

/** What is known of the call that failed. */
export interface CallFacts {
  veil: Veil;
  /** The type that was asked for, and the zone. Absent: the call was for no type, or for no zone. */
  type?: string | undefined;
  zone?: string | undefined;
  /** Which way, and by how much, the clock of this Drover differs from the cloud's. Absent: hardly. */
  skew?: string | undefined;
  retryAfterMs?: number | undefined;
}

/**
 * The failure for an error answer of the cloud `title`. `known`: what the tables say of it. An error that no
 * table has is `temporary`, and its code is told as `unknownCode` (clouds.md). Texts go through the veil
 * before they are cut.
 */
export function failureOf(
  title: string,
  error: CloudError,
  known: Meaning | undefined,
  facts: CallFacts,
): ProviderFailure {
  const { code, message, status } = error;
  const { class: cls, concerns, retryAfterMs, mayHaveWorked, advice } = known ?? unknownMeaning(status);
  const pause = facts.retryAfterMs ?? retryAfterMs;
  return {
    class: cls,
    text: textOf(title, error, (cls === "auth" ? facts.skew : undefined) ?? advice, facts.veil),
    scope: scopeOf(concerns, message, facts),
    ...(pause === undefined ? {} : { retryAfterMs: pause }),
    ...(mayHaveWorked === undefined ? { refused: true } : {}),
    ...(known === undefined && code !== undefined ? { unknownCode: facts.veil(code).slice(0, 128) } : {}),
  };
}

/** An error without a known code is a proxy's, or that of a server which is about to fail. */
function unknownMeaning(status: number): Meaning {
  if (status === 429) return RATE;
  return provesRefusal(status) ? { class: "temporary", concerns: "all" } : OUTAGE;
}

/** The scope of a failure. A call for no type, such as a listing, concerns everything. */
function scopeOf(
  concerns: Concerns,
  message: string,
  { type, zone }: CallFacts,
): NonNullable<ProviderFailure["scope"]> {
  if (type === undefined) return "all";
  if (concerns === "named") return message.includes(type) ? "type" : "all";
  if (concerns === "offer" || concerns === "zone") return zone === undefined ? "type" : concerns;
  return concerns;
}

/** The text of a failure. What to do comes first, since a cloud's own text may be long enough to be cut. */
function textOf(title: string, { status, code, message }: CloudError, hint: string | undefined, veil: Veil) {
  const said = code === undefined ? `${title} answered ${status} without a code` : code;
  const text = veil(`${said}: ${clause(message)}`);
  return (hint === undefined ? text : `${hint}. ${title} says ${text}`).slice(0, MAX_TEXT_CHARS);
}
