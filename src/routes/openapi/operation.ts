// How is a route declared, with its access, its errors and its place in the document?
import { createRoute, type RouteConfig } from "@hono/zod-openapi";
import { z } from "zod";
import { type ErrorCode, STATUS_OF_CODE } from "../../shared/errors.ts";
import { headersOf, SIGNED } from "./answer-headers.ts";
import { MEANING_OF_CODE } from "./meanings.ts";
import { problemAnswer } from "./params.ts";

/** The tag of the HEAD operations. */
export const HEADS = "Headers";

/** The parts of the API, as the reference page groups them. */
export const TAGS = {
  Runs: "Submitting, reading, changing and ending runs: one command, or a group of tasks on one machine.",
  Output: "What a run's tasks wrote, and what happened to the run.",
  Snapshots: "Archives of files: the files that runs begin with, and their results.",
  Pools: "Queues of runs, each with the machines that serve it.",
  Workers: "The machines of the pools: their states, their idle behavior and their end.",
  Hosts: "The calls of agents to the control plane, signed by their hosts.",
  Service: "Health, metrics, and the files that Drover serves.",
  [HEADS]: "HEAD of everything that can be read: whether it exists and how long it is, without its body.",
};

/** Who may call an operation: holders of the token, a host by its signature, or anyone. For the document. */
const ACCESS = {
  token: { security: [{ bearer: [] }], text: "Needs the token." },
  host: { security: [{ hostSignature: [] }], text: "Needs the signature of the host." },
  open: { security: [], text: "Open: needs no token." },
};
type Access = keyof typeof ACCESS;

/** What the open routes have in common. */
export const OPEN = { method: "get", tag: "Service", access: "open" } as const;

/** How each kind of caller authenticates, for the document. `auth.ts` and the objects enforce it. */
export const SECURITY_SCHEMES = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description:
      "The token of this Drover, `DROVER_ADMIN_TOKEN`: it grants full access. Drover has no other " +
      "tokens.",
  },
  hostSignature: {
    type: "apiKey",
    in: "header",
    name: "signature",
    description:
      "A host signs each call by HTTP Message Signatures (RFC 9421), with HMAC-SHA256 and the secret that " +
      "both sides derived from its code: method, path, query, digest of the body, time, host and " +
      "purpose. Answers are signed, too. `docs/design/protocol.md` has the exact form.",
  },
} as const;

/**
 * What a route declares beyond its request and its successful responses. A route without a `query` takes no
 * query parameters.
 */
interface RouteNotes {
  operationId: string;
  summary: string;
  description?: string;
  tag: keyof typeof TAGS;
  /** Who may call it; by default holders of the token. */
  access?: Access;
  /** Error codes specific to this route; common ones are derived. */
  codes?: readonly ErrorCode[];
}

/** Declares a route: its validation, documentation, access and error statuses all derive from this. */
export function operation<P extends string, R extends Omit<RouteConfig, "path"> & { path: P } & RouteNotes>(
  route: R,
) {
  const { tag, access = "token", codes: own, description, request, responses, ...rest } = route;
  const declared = {
    ...rest,
    tags: [tag],
    security: ACCESS[access].security,
    description: `${description ?? `${rest.summary}.`}\n\n${ACCESS[access].text}`,
    request: { query: z.strictObject({}), ...request },
    responses: {
      ...(access === "host" ? withSignature(responses) : responses),
      default: problemAnswer,
      ...refusals([...new Set([...derivedCodes(access, request), ...(own ?? [])])], access),
    },
  };
  // The additions matter only to the document; to the handler the route has its declared type.
  return createRoute(declared) as unknown as ReturnType<typeof createRoute<P, R>>;
}

/** Adds signature headers to JSON answers; the bytes of an archive are proven by its name. */
function withSignature(responses: RouteConfig["responses"]): RouteConfig["responses"] {
  return Object.fromEntries(
    Object.entries(responses).map(([status, answer]) => {
      if (!("content" in answer) || !("application/json" in (answer.content ?? {}))) return [status, answer];
      return [status, { ...answer, headers: { ...answer.headers, ...headersOf(...SIGNED) } }];
    }),
  );
}

/** The error codes that follow from a route's access and body. */
function derivedCodes(access: Access, request: RouteConfig["request"]): ErrorCode[] {
  const codes: ErrorCode[] = ["invalid_request", "internal"];
  if (access !== "open") codes.push("unavailable");
  if (access === "host") codes.push("bad_signature");
  else if (access !== "open") codes.push("unauthorized");
  const body = request?.body?.content;
  if (body !== undefined) codes.push("body_too_large");
  if (body !== undefined && "application/json" in body) codes.push("malformed_json");
  if (body !== undefined && access !== "host") codes.push("unsupported_media_type");
  return codes;
}

function headersOfRefusal(status: number, codes: readonly ErrorCode[], access: Access) {
  const headers = {
    ...(access === "host" ? headersOf(...SIGNED) : {}),
    ...(status === 429 || status === 503 ? headersOf("Retry-After") : {}),
    ...(codes.includes("unauthorized") ? headersOf("WWW-Authenticate") : {}),
    ...(status === 416 ? headersOf("Content-Range") : {}),
  };
  return Object.keys(headers).length > 0 ? { headers } : {};
}

/** The responses for these codes, by status. `openapi.ts` adds the examples that they refer to. */
function refusals(codes: readonly ErrorCode[], access: Access): RouteConfig["responses"] {
  const statuses = [...new Set(codes.map((code) => STATUS_OF_CODE[code]))].sort();
  return Object.fromEntries(
    statuses.map((status) => {
      const possible = codes.filter((code) => STATUS_OF_CODE[code] === status).sort();
      const schema: object = {
        allOf: [
          { $ref: "#/components/schemas/Problem" },
          { type: "object", required: ["code"], properties: { code: { type: "string", enum: possible } } },
        ],
      };
      const examples = Object.fromEntries(
        possible.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
      );
      const answer = {
        description: possible.map((code) => `\`${code}\`: ${MEANING_OF_CODE[code]}`).join("; "),
        ...headersOfRefusal(status, possible, access),
        content: { "application/problem+json": { schema, examples } },
      };
      return [status, answer];
    }),
  );
}
