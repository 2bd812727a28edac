import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import type { EdgeApp } from "./edge.ts";
import { refuse } from "./invalid.ts";
import { problemAnswer } from "./params.ts";

type Document = ReturnType<EdgeApp["getOpenAPI31Document"]>;

const DESCRIPTION =
  "Runs commands on cloud machines that it boots, watches, reuses, drains and destroys by itself.";

const route = createRoute({
  method: "get",
  path: "/openapi.json",
  summary: "This document",
  request: { query: z.strictObject({}) },
  responses: {
    200: {
      description: "OpenAPI 3.1",
      content: { "application/json": { schema: z.custom<Document>().meta({ type: "object" }) } },
    },
    default: problemAnswer,
  },
});

/**
 * Adds the document that the declared routes make. It is made at the first request and kept: it cannot
 * change.
 */
export function openApiRoute(app: EdgeApp, version: string): void {
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
  let document: Document | undefined;
  app.openapi(
    route,
    (c) => {
      document ??= app.getOpenAPI31Document({
        openapi: "3.1.0",
        info: { title: "Drover", version, description: DESCRIPTION, license: { name: "Apache-2.0" } },
        servers: [{ url: "/" }],
      });
      return c.json(document, 200);
    },
    refuse(),
  );
}
