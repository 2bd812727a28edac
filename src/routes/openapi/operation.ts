// How is a route declared, with its access, its errors and its place in the document?
import { createRoute, type RouteConfig } from "@hono/zod-openapi";
import { z } from "zod";
import type { Scope } from "../../shared/access/scopes.ts";
import { type ErrorCode, STATUS_OF_CODE } from "../../shared/errors.ts";
import { requireScope } from "../http/auth.ts";
import { countRefusals } from "../oidc/refusals.ts";
import { headersOf, RATED, SIGNED } from "./answer-headers.ts";
import { MEANING_OF_CODE } from "./meanings.ts";
import { problemAnswer } from "./params.ts";

/** The tag of the HEAD operations. */
export const HEADS = "Headers";

/** The parts of the API, as the reference page groups them. */
export const TAGS = {
  Runs: "Submitting, reading, changing and ending runs: one command, or a group of tasks on one machine.",
  Jobs: "What runs again: by a schedule, or when somebody asks for it, with values of their own.",
  Output: "What a run's tasks wrote, and what happened to the run.",
  Snapshots: "Archives of files: the files that runs begin with, and their results.",
  Pools: "Queues of runs, each with the machines that serve it.",
  Workers: "The machines of the pools: their states, their idle behavior and their end.",
  Projects: "Who is kept apart from whom: each project has its own runs, tokens, secrets and webhooks.",
  Tokens: "Who may do what: tokens with scopes and limits, and the sessions of browsers.",
  Audit: "Who did what: an entry for each change that somebody has asked for.",
  Webhooks: "Events sent to receivers of yours, signed and repeated: endpoints and deliveries.",
  Secrets: "Values that runs get and that nothing shows: passwords, keys, tokens of other services.",
  Hosts: "The calls of agents to the control plane, signed by their hosts.",
  Service: "Health, metrics, and the files that Drover serves.",
  [HEADS]: "HEAD of everything that can be read: whether it exists and how long it is, without its body.",
};

/**
 * Callers without a token of this Drover: hosts, machines that boot, commands of attempts, holders of an
 * issuer's token.
 */
type Foreign = "host" | "boot" | "attempt" | "issuer";

/**
 * Who may call an operation: tokens with a scope, any valid token, callers with another proof, or anyone
 * (access.md#scopes).
 */
export type AccessRule = Scope | "any_token" | Foreign | "open";

/** How callers without a token of this Drover prove who they are, for the document. */
const PROOFS: Record<Foreign, { security: Record<string, never[]>[]; text: string }> = {
  host: { security: [{ hostSignature: [] }], text: "Needs the signature of the host." },
  boot: { security: [{ bootToken: [] }], text: "Needs the token of a machine that boots." },
  attempt: { security: [{ requestToken: [] }], text: "Needs the request token of an attempt." },
  issuer: { security: [{ issuerToken: [] }], text: "Needs a token of an issuer that a trust rule names." },
};

const isForeign = (access: AccessRule): access is Foreign => Object.hasOwn(PROOFS, access);

/** Whether the caller needs a token of this Drover. */
const needsToken = (access: AccessRule): access is Scope | "any_token" =>
  access !== "open" && !isForeign(access);

/** How the document describes an access rule. */
function securityOf(access: AccessRule) {
  if (access === "open") return { security: [], text: "Open: needs no token." };
  if (isForeign(access)) return PROOFS[access];
  const text = access === "any_token" ? "Needs a token." : `Needs a token with the scope \`${access}\`.`;
  return { security: [{ bearer: [] }], text };
}

/** Checks the scope, or counts refused proofs, before any other part of the request. */
function guardOf(access: AccessRule) {
  if (access === "issuer" || access === "attempt" || access === "boot")
    return { middleware: countRefusals(access) };
  if (access === "open" || access === "host" || access === "any_token") return {};
  return { middleware: requireScope(access) };
}

/** What the open routes have in common. */
export const OPEN = { method: "get", tag: "Service", access: "open" } as const;

/** How each kind of caller authenticates, for the document. `auth.ts` and the objects check the callers. */
export const SECURITY_SCHEMES = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description:
      "A token that `POST /v1/tokens` made, with the scopes that it was given, or the secret of this " +
      "Drover, `DROVER_ADMIN_TOKEN`, which grants full access.",
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
  bootToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "drvb_<worker>.<expires at, seconds>.<HMAC>",
    description: "The token in the script with which a machine boots. It is good for reports of this boot.",
  },
  requestToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "drvr_<worker>~<attempt>~<HMAC>",
    description:
      "The token in `DROVER_OIDC_REQUEST_TOKEN` of a command whose run has `identity`. It is good while " +
      "that attempt is to run.",
  },
  issuerToken: {
    type: "openIdConnect",
    openIdConnectUrl: "https://token.actions.githubusercontent.com/.well-known/openid-configuration",
    description:
      "A token of an OpenID Connect issuer that a trust rule names, such as that of GitHub. It is sent in " +
      "the body, as `token`, and is good for one exchange.",
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
  access: AccessRule;
  /** The error codes specific to this route. All other codes are derived. */
  codes?: readonly ErrorCode[];
}

/**
 * Declares a route. Its validation, documentation, access and error statuses all derive from the declaration.
 */
export function operation<P extends string, R extends Omit<RouteConfig, "path"> & { path: P } & RouteNotes>(
  route: R,
) {
  const { tag, access, codes: own, description, request, responses, ...rest } = route;
  const { security, text } = securityOf(access);
  const declared = {
    ...rest,
    tags: [tag],
    ...guardOf(access),
    security,
    // Programs read the access rule here; people read it in the description.
    "x-drover-access": access,
    description: `${description ?? `${rest.summary}.`}\n\n${text}`,
    request: { query: z.strictObject({}), ...request },
    responses: {
      ...withHeadersOf(access, responses),
      default: problemAnswer,
      ...refusals([...new Set([...derivedCodes(access, request), ...(own ?? [])])], access),
    },
  };
  // The additions affect only the document. For the handler, the route has its declared type.
  return createRoute(declared) as unknown as ReturnType<typeof createRoute<P, R>>;
}

/**
 * Adds the headers that follow from the caller: signatures for JSON answers to hosts, and the rate limit for
 * tokens. An archive needs no signature, since its name is its digest.
 */
function withHeadersOf(access: AccessRule, responses: RouteConfig["responses"]): RouteConfig["responses"] {
  const more = access === "host" ? headersOf(...SIGNED) : needsToken(access) ? headersOf(...RATED) : {};
  return Object.fromEntries(
    Object.entries(responses).map(([status, answer]) => {
      if ("$ref" in answer || (access === "host" && !isJson(answer))) return [status, answer];
      return [status, { ...answer, headers: { ...answer.headers, ...more } }];
    }),
  );
}

function isJson({ content = {} }: { content?: object }): boolean {
  return "application/json" in content;
}

/** The error codes that follow from a route's access and body. */
function derivedCodes(access: AccessRule, request: RouteConfig["request"]): ErrorCode[] {
  const codes: ErrorCode[] = ["invalid_request", "internal"];
  if (access !== "open") codes.push("unavailable");
  if (access === "host") codes.push("bad_signature");
  else if (access !== "open") codes.push("unauthorized", "too_many_requests");
  if (needsToken(access)) codes.push("beyond_limits", "unknown_project", "cross_site");
  if (needsToken(access) && access !== "any_token") codes.push("missing_scope");
  const body = request?.body?.content;
  if (body !== undefined) codes.push("body_too_large");
  if (body !== undefined && "application/json" in body) codes.push("malformed_json");
  if (body !== undefined && access !== "host") codes.push("unsupported_media_type");
  return codes;
}

function headersOfRefusal(status: number, codes: readonly ErrorCode[], access: AccessRule) {
  const headers = {
    ...(access === "host" ? headersOf(...SIGNED) : {}),
    ...(needsToken(access) || codes.includes("too_many_requests") ? headersOf(...RATED) : {}),
    ...(status === 429 || status === 503 ? headersOf("Retry-After") : {}),
    ...(codes.includes("unauthorized") ? headersOf("WWW-Authenticate") : {}),
    ...(status === 416 ? headersOf("Content-Range") : {}),
  };
  return Object.keys(headers).length > 0 ? { headers } : {};
}

/** The responses for these codes, by status. `openapi.ts` adds the examples to which the responses refer. */
function refusals(codes: readonly ErrorCode[], access: AccessRule): RouteConfig["responses"] {
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
