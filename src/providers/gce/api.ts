// How is Compute Engine called, and what do its errors look like?
import { z } from "zod";
import type { GceConfig } from "../../schema/pool/providers/clouds.ts";
import type { JsonApi } from "../json-api.ts";
import { RATE } from "../meanings.ts";
import { meaningOf } from "./errors.ts";

const MINUTE_MS = 60_000;

const ErrorBody = z.object({
  error: z.object({
    message: z.string().catch(""),
    errors: z
      .array(z.object({ reason: z.string(), message: z.string().optional() }))
      .optional()
      .catch(undefined),
    status: z.string().optional().catch(undefined),
  }),
});

/** The API in a project, with this token, for as long as one call of Drover lasts. */
export function apiOf({ project, endpoint }: GceConfig, authorization: string, now: () => number): JsonApi {
  const base = (endpoint ?? "https://compute.googleapis.com").replace(/\/$/, "");
  return {
    title: "Google",
    base: `${base}/compute/v1/projects/${encodeURIComponent(project)}`,
    authorization,
    now,
    errorIn,
    meaningOf: (error) => {
      const meaning = meaningOf(error);
      // Google's rates are refilled at the beginning of a minute.
      const pause = MINUTE_MS - (now() % MINUTE_MS) + 1_000;
      return meaning === RATE ? { ...meaning, retryAfterMs: pause } : meaning;
    },
  };
}

function errorIn(body: unknown) {
  const { data } = ErrorBody.safeParse(body);
  if (data === undefined) return undefined;
  const { message, errors, status } = data.error;
  return { code: errors?.[0]?.reason ?? status, message };
}
