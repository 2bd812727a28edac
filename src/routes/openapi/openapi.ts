// The route `/openapi.json`: how the document is made from the declared routes.
import { etag } from "hono/etag";
import { ErrorCode, type Problem } from "../../schema/problem.ts";
import { DroverError } from "../../shared/errors.ts";
import { hexDigest } from "../../signing/mac.ts";
import type { EdgeApp } from "../edge.ts";
import { inPieces } from "../http/in-pieces.ts";
import { problemOf } from "../http/problem.ts";
import { HEADER_COMPONENTS, headersOf } from "./answer-headers.ts";
import { COMPONENTS } from "./components.ts";
import { withHeads } from "./document-heads.ts";
import { readableShapes } from "./document-shapes.ts";
import { addExamples } from "./example-document.ts";
import { MEANING_OF_CODE } from "./meanings.ts";
import { OPEN, operation, SECURITY_SCHEMES, TAGS } from "./operation.ts";
import { notModifiedAnswer } from "./params.ts";

/** This route's own answer is described only as a JSON object. */
const content: Record<string, { schema: object }> = {
  "application/json": { schema: { type: "object" } },
};

const DESCRIPTION =
  "Runs commands on cloud machines that it boots, watches, reuses, drains and destroys by itself.\n\n" +
  "Durations are strings such as `250ms`, `10s` or `1h30m`; sizes are numbers of bytes, or strings such as " +
  "`512MiB`; instants are RFC 3339 in UTC. A caller that belongs to no project acts in the one that the " +
  "header `Drover-Project` names. Unknown fields are refused. Every error is a `Problem` " +
  "(RFC 9457), whose `code` is for programs.";

/** The `instance` of the example errors. */
const INSTANCE = "urn:uuid:5b1f9f0e-4f0c-4d4e-9d55-0f6d3c2b1a00";

const route = operation({
  ...OPEN,
  path: "/openapi.json",
  operationId: "getOpenApi",
  summary: "This document",
  responses: {
    200: { description: "OpenAPI 3.1", headers: headersOf("ETag"), content },
    304: notModifiedAnswer,
  },
});

/**
 * Adds the document of all declared routes. The document is made at the first request and kept, since it
 * cannot change.
 */
export function openApiRoute(app: EdgeApp, version: string): void {
  for (const [name, scheme] of Object.entries(SECURITY_SCHEMES)) {
    app.openAPIRegistry.registerComponent("securitySchemes", name, scheme);
  }
  for (const schema of COMPONENTS) {
    // A schema created before the library was imported lacks the library's methods; its clone has them.
    app.openAPIRegistry.register(schema.meta()?.id ?? "", schema.clone());
  }
  let made: Tagged | undefined;
  app.use("/openapi.json", etag());
  app.openapi(route, () => {
    made ??= tagged(makeDocument(app, version));
    const headers = { "content-type": "application/json", "cache-control": "no-cache", etag: made.etag };
    return new Response(inPieces(made.bytes), { headers });
  });
}

/** What is answered, with its tag: both would take much memory if they were made for each of many readers. */
interface Tagged {
  bytes: Uint8Array;
  etag: string;
}

function tagged(text: string): Tagged {
  return { bytes: new TextEncoder().encode(text), etag: `"${hexDigest(text)}"` };
}

function makeDocument(app: EdgeApp, version: string): string {
  const document = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Drover",
      version,
      description: DESCRIPTION,
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
    servers: [{ url: "/", description: "the Drover that serves this document" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
  });
  for (const methods of Object.values(document.paths ?? {})) {
    for (const one of Object.values(methods)) addExamples(one);
  }
  const { paths, schemas } = readableShapes({
    paths: withHeads(document.paths ?? {}),
    schemas: document.components?.schemas ?? {},
  });
  const examples = examplesIn(JSON.stringify(paths));
  const components = { ...document.components, schemas, headers: HEADER_COMPONENTS, examples };
  return JSON.stringify({ ...document, paths, components });
}

/** One example for each error code of any route, without the optional fields. */
function examplesIn(paths: string): Record<string, { summary: string; value: Problem }> {
  const codes = ErrorCode.options.filter((code) => paths.includes(`"#/components/examples/${code}"`));
  const problems = codes.map((code) => problemOf(new DroverError(code, MEANING_OF_CODE[code]), INSTANCE));
  return Object.fromEntries(problems.map((value) => [value.code, { summary: value.title, value }]));
}
