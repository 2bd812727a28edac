import { etag } from "hono/etag";
import { z } from "zod";
import { DroverError } from "../core/errors.ts";
import { headersOf } from "./answer-headers.ts";
import type { EdgeApp } from "./edge.ts";
import { refuse } from "./invalid.ts";
import { operation } from "./operation.ts";
import { notModifiedAnswer, problemAnswer } from "./params.ts";

/** One file of the reference page, as `scripts/build.mjs` packs it. */
export interface ReferenceFile {
  name: string;
  /** Its media type. */
  type: string;
  /** Of its text, in hexadecimal. */
  sha256: string;
  /** Its bytes by gzip, in base64: so they cost the Worker little while nobody reads the page. */
  gzip: string;
}

/** Scripts and styles come from here alone, and nothing is asked of another host. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const PATH = "/docs";
const PAGE = "index.html";

const page = operation({
  method: "get",
  path: PATH,
  operationId: "getReference",
  tag: "Service",
  access: "open",
  summary: "The reference page: this document, for people",
  request: { query: z.strictObject({}) },
  responses: {
    200: {
      description: "the page",
      headers: headersOf("ETag"),
      content: { "text/html": { schema: z.string() } },
    },
    304: notModifiedAnswer,
    default: problemAnswer,
  },
});

const home = operation({
  method: "get",
  path: "/",
  operationId: "getHome",
  tag: "Service",
  access: "open",
  summary: "Leads to the reference page: for a person who opens the address of this Drover",
  request: { query: z.object({}) },
  responses: { 302: { description: "at `/docs`", headers: headersOf("Location") }, default: problemAnswer },
});

const part = operation({
  method: "get",
  path: "/docs/{file}",
  operationId: "getReferenceFile",
  tag: "Service",
  access: "open",
  codes: ["not_found"],
  summary: "A script or style sheet of the reference page",
  request: {
    params: z.object({
      file: z.string().max(64).meta({ description: "its name", example: "swagger-ui.css" }),
    }),
    query: z.strictObject({}),
  },
  responses: {
    200: {
      description: "the file",
      headers: headersOf("ETag"),
      content: { "text/javascript": { schema: z.string() }, "text/css": { schema: z.string() } },
    },
    304: notModifiedAnswer,
    default: problemAnswer,
  },
});

/** Adds the page at `/docs` (`api.md`). Open: it shows what `/openapi.json` says, and nothing else. */
export function referenceRoutes(app: EdgeApp, files: readonly ReferenceFile[]): void {
  app.use("/docs", etag());
  app.use("/docs/*", etag());
  app.openapi(home, (c) => c.redirect(PATH), refuse());
  app.openapi(page, () => serve(files, PAGE), refuse());
  app.openapi(part, (c) => serve(files, c.req.valid("param").file), refuse());
}

function serve(files: readonly ReferenceFile[], name: string): Response {
  const file = files.find((one) => one.name === name);
  if (file === undefined) throw new DroverError("not_found", `the page at /docs has no file "${name}"`);
  const bytes = Uint8Array.from(atob(file.gzip), (c) => c.charCodeAt(0));
  const headers = {
    "content-type": `${file.type}; charset=utf-8`,
    "cache-control": "no-cache",
    etag: `"${file.sha256}"`,
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")), { headers });
}
