// How is Hetzner's API called, and what do its answers carry besides their content?
import { z } from "zod";
import type { CallBudget } from "../../core/provider-answers.ts";
import type { HetznerConfig } from "../../schema/pool/providers/clouds.ts";
import type { JsonApi } from "../json-api.ts";
import { meaningOf } from "./errors.ts";

/** A project uses up calls that come back one each second: to wait for all of them would be too long. */
const LONGEST_PAUSE_MS = 60_000;

const Names = z.array(z.object({ name: z.string() })).catch([]);
const ErrorBody = z.object({
  error: z.object({
    code: z.string(),
    message: z.string().catch(""),
    details: z.object({ fields: Names.optional(), limits: Names.optional() }).nullish().catch(undefined),
  }),
});

/** The API with this token, for as long as one call of Drover lasts. */
export function apiOf({ endpoint }: HetznerConfig, token: string, now: () => number): JsonApi {
  const base = (endpoint ?? "https://api.hetzner.cloud/v1").replace(/\/$/, "");
  return {
    title: "Hetzner",
    base,
    authorization: `Bearer ${token}`,
    now,
    errorIn,
    meaningOf,
    pauseIn: (headers) => pauseIn(headers, now()),
  };
}

/** The names of wrong fields and of limits are in the details alone. */
function errorIn(body: unknown) {
  const { data } = ErrorBody.safeParse(body);
  if (data === undefined) return undefined;
  const { code, message, details } = data.error;
  const names = [...(details?.fields ?? []), ...(details?.limits ?? [])].map(({ name }) => name);
  const unnamed = names.filter((name) => !message.includes(name));
  return { code, message: unnamed.length === 0 ? message : `${message} (${unnamed.join(", ")})` };
}

function pauseIn(headers: Headers, now: number): number | undefined {
  if (headers.get("ratelimit-remaining") !== "0") return undefined;
  const resetAt = Number(headers.get("ratelimit-reset")) * 1_000;
  return Math.min(LONGEST_PAUSE_MS, Math.max(1_000, resetAt - now));
}

/** How many calls the project has left this hour. Undefined: the answer does not say. */
export function budgetIn(headers: Headers): CallBudget | undefined {
  const [limit, remaining] = ["ratelimit-limit", "ratelimit-remaining"].map((name) => {
    const text = headers.get(name);
    return text !== null && /^\d+$/.test(text) ? Number(text) : undefined;
  });
  return limit === undefined || remaining === undefined ? undefined : { limit, remaining };
}
