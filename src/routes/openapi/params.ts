// The parameters and answers that many routes share: states, flags, limits, keys.
import { z } from "zod";
import { Name, RunId } from "../../schema/common.ts";
import { Problem } from "../../schema/problem.ts";
import { type RunState, statesSelected } from "../../schema/run/run.ts";
import { parseDuration } from "../../shared/duration.ts";
import { MAX_WAIT_MS } from "../../shared/limits.ts";
import { RUN_STATES } from "../../shared/run-state.ts";
import { headersOf } from "./answer-headers.ts";

/** The milliseconds of a valid `wait`, but at most `longest`. */
export function waitMs(wait: string | undefined, longest = MAX_WAIT_MS): number {
  return wait === undefined || wait === "0" ? 0 : Math.min(parseDuration(wait) ?? 0, longest);
}

/** The bit set of all seven states, which is the largest bit set (api.md#state-filter). */
const ALL_STATES_MASK = 2 ** RUN_STATES.length - 1;
const STATE_WORDS = [...RUN_STATES, "done", "all"] as const;

const WHAT_STATES = `must be one of ${STATE_WORDS.join(", ")}, or a bit set from 0 to ${ALL_STATES_MASK}`;

export const StateWord = z.enum(STATE_WORDS).meta({ id: "StateWord" });

const StateMask = z
  .string()
  .refine((text) => /^\d{1,3}$/.test(text) && Number(text) <= ALL_STATES_MASK, WHAT_STATES)
  .meta({ type: "integer", minimum: 0, maximum: ALL_STATES_MASK });

/** One `state` of a query: a name, `done`, `all`, or a number that is a bit set. */
export const StateFilter = z
  .union([StateWord, StateMask], WHAT_STATES)
  .meta({ description: "a state, `done`, `all`, or a number in which bit n is state n", example: "done" });

/** A boolean parameter. */
export const Flag = z.enum(["0", "1", "false", "true"]).meta({ id: "Flag" });

/** Whether a flag is on. An absent flag is off. */
export function isOn(flag: z.output<typeof Flag> | undefined): boolean {
  return flag === "1" || flag === "true";
}

/** The states that the filters of a query string select. */
export function statesOf(filters: readonly string[]): RunState[] {
  return [...statesSelected(filters.map((text) => (/^\d+$/.test(text) ? Number(text) : text)))];
}

/** A query parameter that may be given any number of times. */
export function repeatable<Item extends z.ZodType>(item: Item) {
  return z.preprocess(
    (value) => (Array.isArray(value) || value === undefined ? value : [value]),
    z.array(item),
  );
}

/** How many items a page has (api.md#lists). */
export const Limit = z
  .string()
  .regex(/^(1000|[1-9]\d{0,2})$/, "must be a whole number from 1 to 1000")
  .default("100")
  .transform(Number)
  .meta({ type: "integer", minimum: 1, maximum: 1_000, description: "how many items at most" });

/** The `Idempotency-Key` of a POST (api.md#idempotency). */
export const IdempotencyKey = z
  .string()
  .regex(/^[\x20-\x7e]{1,255}$/, "must be 1 to 255 printable ASCII characters")
  .describe("the same key with the same body finds the same result again");

export const RunParams = z.object({ id: RunId.describe("the run's id") });
export const WorkerParams = z.object({ id: Name.describe("the worker's id") });
export const HostParams = z.object({ worker: Name.describe("the worker's id") });
export const PoolParams = z.object({ name: Name.describe("the pool's name") });

/** The error response of every route. */
export const problemAnswer = {
  description: "an error (RFC 9457)",
  content: { "application/problem+json": { schema: Problem } },
};

/** The response without a body for a client that already has the content of this `ETag`. */
export const notModifiedAnswer = {
  description: "not modified: `If-None-Match` names the current `ETag`",
  headers: headersOf("ETag"),
};

/** The answers for a file of one of these types: the file, or 304 if the client already has it. */
export function fileAnswers(description: string, types: string[], ...more: Parameters<typeof headersOf>) {
  const content = Object.fromEntries(types.map((type) => [type, { schema: z.string() }]));
  return { 200: { description, headers: headersOf("ETag", ...more), content }, 304: notModifiedAnswer };
}

/** An answer in JSON. */
export function jsonAnswer<Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  headers: Parameters<typeof headersOf> = [],
) {
  const more = headers.length === 0 ? {} : { headers: headersOf(...headers) };
  return { description, content: { "application/json": { schema } }, ...more };
}

/** A required JSON body. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { "application/json": { schema } } };
}
