// The dashboard at `/ui`, with its files and its strict policy (ui.md#security).
import { z } from "zod";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { OPEN, operation } from "../openapi/operation.ts";
import { fileAnswers } from "../openapi/params.ts";
import { servePageFile } from "./page-file.ts";

/**
 * Only files of this origin, and no text that becomes markup or code. The one policy of trusted types gives
 * the address of one script (ui/log/search/worker-url.ts): a log is searched in a thread that can be ended.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types drover-worker",
].join("; ");

const HEADERS = { "content-security-policy": POLICY, "cross-origin-opener-policy": "same-origin" };
const PATH = "/ui";

const page = (path: string, operationId: string, summary: string, params: z.ZodRawShape) =>
  operation({
    ...OPEN,
    path,
    operationId,
    summary,
    // The query is for the page itself, which says what is wrong with it.
    request: { params: z.object(params), query: z.object({}) },
    responses: fileAnswers("the page", ["text/html"]),
  });

const PageName = z.string().max(64).meta({ description: "a page of the dashboard", example: "runs" });
const ItemName = z.string().max(256).meta({ description: "what the page is about", example: "build-17" });

const file = operation({
  ...OPEN,
  path: `${PATH}/files/{file}`,
  operationId: "getUiFile",
  codes: ["not_found"],
  summary: "A script or style sheet of the dashboard",
  request: {
    params: z.object({ file: z.string().max(64).meta({ description: "its name", example: "main.js" }) }),
  },
  responses: fileAnswers("the file", ["text/javascript", "text/css"]),
});

/** The same document at each address of a page: a script in it reads the address. */
const PAGES = [
  page(PATH, "getUi", "The dashboard, for people", {}),
  page(`${PATH}/{page}`, "getUiPage", "A page of the dashboard", { page: PageName }),
  page(`${PATH}/{page}/{item}`, "getUiItem", "A page of the dashboard about one thing", {
    page: PageName,
    item: ItemName,
  }),
];

/**
 * Adds the dashboard (ui.md#parts). Its files need no token: what they show is asked for with a session.
 */
export function uiRoutes(app: EdgeApp): void {
  app.openapi(file, (c) => serve(c, `files/${encodeURIComponent(c.req.valid("param").file)}`));
  for (const route of PAGES) app.openapi(route, (c) => serve(c, "index.html"));
}

function serve(c: EdgeContext, name: string): Promise<Response> {
  return servePageFile(c, { path: `${PATH}/${name}`, page: PATH, headers: HEADERS });
}
