// The reference page at `/docs`, with its files and its strict policy (api.md#reference-page).
import { z } from "zod";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { headersOf } from "../openapi/answer-headers.ts";
import { OPEN, operation } from "../openapi/operation.ts";
import { fileAnswers } from "../openapi/params.ts";
import { servePageFile } from "./page-file.ts";

/** Allows scripts and styles only from this origin, and no requests to other hosts. */
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
  ...OPEN,
  path: PATH,
  operationId: "getReference",
  summary: "The reference page: this document, for people",
  responses: fileAnswers("the page", ["text/html"]),
});

const home = operation({
  ...OPEN,
  path: "/",
  operationId: "getHome",
  summary: "Redirects to the reference page",
  request: { query: z.object({}) },
  responses: { 302: { description: "at `/docs`", headers: headersOf("Location") } },
});

const part = operation({
  ...OPEN,
  path: "/docs/{file}",
  operationId: "getReferenceFile",
  codes: ["not_found"],
  summary: "A script or style sheet of the reference page",
  request: {
    params: z.object({
      file: z.string().max(64).meta({ description: "its name", example: "swagger-ui.css" }),
    }),
  },
  responses: fileAnswers("the file", ["text/javascript", "text/css"]),
});

/**
 * Adds the page at `/docs` (api.md#reference-page). The page needs no token: it shows only `/openapi.json`.
 */
export function referenceRoutes(app: EdgeApp): void {
  app.openapi(home, (c) => c.redirect(PATH));
  app.openapi(page, (c) => serve(c, PAGE));
  app.openapi(part, (c) => serve(c, c.req.valid("param").file));
}

/** Serves a static file of the page, with the page's security headers. */
function serve(c: EdgeContext, name: string): Promise<Response> {
  const path = `${PATH}/${encodeURIComponent(name)}`;
  return servePageFile(c, { path, page: PATH, headers: { "content-security-policy": POLICY } });
}
