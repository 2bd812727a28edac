// The probes of a load balancer: is the edge up, and can it serve requests?
import { z } from "zod";
import type { EdgeApp } from "./edge.ts";
import { OPEN, operation } from "./openapi/operation.ts";
import { jsonAnswer } from "./openapi/params.ts";

const Health = z.object({ status: z.literal("ok"), version: z.string() }).meta({ id: "Health" });

const healthz = operation({
  ...OPEN,
  path: "/healthz",
  operationId: "getHealth",
  summary: "Whether the edge answers",
  responses: { 200: jsonAnswer("it does", Health) },
});

const readyz = operation({
  ...OPEN,
  path: "/readyz",
  operationId: "getReadiness",
  codes: ["unavailable"],
  summary: "Whether requests can be served: asks the Registry",
  responses: { 200: jsonAnswer("they can", Health) },
});

/** Adds the probes of a load balancer. Neither probe needs a token. */
export function healthRoutes(app: EdgeApp, version: string): void {
  app.openapi(healthz, (c) => c.json({ status: "ok" as const, version }, 200));
  app.openapi(readyz, async (c) => {
    await c.env.objects.registry().pools();
    return c.json({ status: "ok" as const, version }, 200);
  });
}
