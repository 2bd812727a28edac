import { createRoute } from "@hono/zod-openapi";
import { etag } from "hono/etag";
import { z } from "zod";
import type { EdgeApp } from "./edge.ts";
import { refuse } from "./invalid.ts";
import { problemAnswer } from "./params.ts";

/** The host agent that this Worker serves, as `scripts/build.mjs` packs it. */
export interface AgentBundle {
  version: string;
  /** Of `source`, in hexadecimal. */
  sha256: string;
  source: string;
}

const FILE = "drover-agent.mjs";

const file = createRoute({
  method: "get",
  path: `/agent/${FILE}`,
  summary: "The host agent, one file for Node 20 or later",
  request: { query: z.strictObject({}) },
  responses: {
    200: { description: "the file", content: { "text/javascript": { schema: z.string() } } },
    default: problemAnswer,
  },
});

const digest = createRoute({
  method: "get",
  path: `/agent/${FILE}.sha256`,
  summary: "Its digest, as sha256sum -c reads it",
  request: { query: z.strictObject({}) },
  responses: {
    200: { description: "the digest", content: { "text/plain": { schema: z.string() } } },
    default: problemAnswer,
  },
});

/** Adds the files that a machine fetches to become a host. Open: there is nothing secret in them. */
export function agentFileRoutes(app: EdgeApp, agent: AgentBundle): void {
  const bytes = Uint8Array.from(agent.sha256.match(/../g) ?? [], (hex) => Number.parseInt(hex, 16));
  const reprDigest = `sha-256=:${btoa(String.fromCharCode(...bytes))}:`;
  app.use("/agent/*", etag());
  app.openapi(
    file,
    () =>
      new Response(agent.source, {
        headers: {
          "content-type": "text/javascript; charset=utf-8",
          "cache-control": "no-cache",
          etag: `"${agent.sha256}"`,
          "repr-digest": reprDigest,
        },
      }),
    refuse(),
  );
  app.openapi(digest, (c) => c.text(`${agent.sha256}  ${FILE}\n`, 200), refuse());
}
