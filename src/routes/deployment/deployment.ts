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
    bucketName: z.string().nullable().describe("its name, as `drover deploy` has bound it; null: unknown"),
    domains: z.array(z.string()).describe("the custom domains at which `drover deploy` has it answer"),
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
    const { url, hasBucket, deployed, wrappingKeys } = c.env;
    const numbers = Object.keys(wrappingKeys)
      .map(numberOf)
      .sort((a, b) => a - b);
    const at = { version, url: url === "" ? null : url };
    return c.json({ ...at, bucket: hasBucket, ...deployed, wrappingKeys: numbers }, 200);
  });
}
