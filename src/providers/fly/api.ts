// How is the Machines API of Fly called?
import { z } from "zod";
import type { FlyConfig } from "../../schema/pool/providers/clouds.ts";
import type { JsonApi } from "../json-api.ts";
import { meaningOf } from "./errors.ts";

const ErrorBody = z.object({
  error: z.string(),
  status: z.string().min(1).optional().catch(undefined),
});

/** The API of an app with this token, for as long as one call of Drover lasts. */
export function apiOf({ app, endpoint }: FlyConfig, token: string, now: () => number): JsonApi {
  const base = (endpoint ?? "https://api.machines.dev").replace(/\/$/, "");
  return {
    title: "Fly",
    base: `${base}/v1/apps/${encodeURIComponent(app)}/machines`,
    // Newer tokens name their scheme themselves.
    authorization: token.startsWith("FlyV1 ") ? token : `Bearer ${token}`,
    now,
    errorIn,
    meaningOf,
  };
}

function errorIn(body: unknown) {
  const { data } = ErrorBody.safeParse(body);
  return data === undefined ? undefined : { code: data.status, message: data.error };
}
