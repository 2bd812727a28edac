// The route that says what was deployed: version, address, bucket, keys (deploy.md#facts).
import { z } from "zod";
import { numberOf } from "../../signing/envelope.ts";
import type { EdgeApp } from "../edge.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer } from "../openapi/params.ts";

const Deployment = z
  .object({
    version: z.string().describe("the version of this Drover"),
    url: z.string().nullable().describe("where hosts reach it (DROVER_URL); null: it does not know"),
    bucket: z.boolean().describe("whether it has a bucket for logs, snapshots and the audit log"),
    wrappingKeys: z.array(z.int()).describe("the numbers of its wrapping keys (DROVER_KEK_1 and so on)"),
  })
  .meta({ id: "Deployment" });

const read = operation({
  tag: "Service",
  access: "admin",
  method: "get",
  path: "/v1/deployment",
  operationId: "getDeployment",
  summary: "What was deployed, for `drover deploy`",
  responses: { 200: jsonAnswer("the deployment", Deployment) },
});

/** Adds the route that says what was deployed (deploy.md#facts). */
export function deploymentRoutes(app: EdgeApp, version: string): void {
  app.openapi(read, (c) => {
    const { url, hasBucket, wrappingKeys } = c.env;
    const numbers = Object.keys(wrappingKeys)
      .map(numberOf)
      .sort((a, b) => a - b);
    return c.json({ version, url: url === "" ? null : url, bucket: hasBucket, wrappingKeys: numbers }, 200);
  });
}
