import { createRoute, type RouteConfig } from "@hono/zod-openapi";
import { type ErrorCode, STATUS_OF_CODE } from "../../shared/errors.ts";
import { headersOf, SIGNED } from "./answer-headers.ts";
import { MEANING_OF_CODE } from "./meanings.ts";

/** Operations that say only what another would say beside its body. */
export const HEADS = "Headers";

/** The parts of the API, as the reference page groups them. */
export const TAGS = {
  Runs: "Submitting, reading, changing and ending runs: one command, or a group of tasks on one machine.",
  Output: "What a run's tasks wrote, and what happened to it.",
  Snapshots: "Archives of files: what runs begin with, and what they leave behind.",
  Pools: "Where runs wait, and from which machines they get their places.",
  Workers: "The machines of the pools, each with its idle behavior and its end.",
  Hosts: "What an agent says to the control plane, signed by its host.",
  Service: "Health, metrics, and the files that Drover serves of itself.",
  [HEADS]: "HEAD of all that can be read: whether it is there, and how long it is, without its body.",
};

/** Who may call an operation: whoever has the token, a host by its signature, or anybody. */
export type Access = "token" | "host" | "open";

/** How each kind of caller shows who it is, for the document. `auth.ts` and the objects enforce it. */
export const SECURITY_SCHEMES = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description:
      "The token of this Drover, `DROVER_ADMIN_TOKEN`: whoever has it may do everything. There is one, and " +
      "none with fewer rights.",
  },
  hostSignature: {
    type: "apiKey",
    in: "header",
    name: "signature",
    description:
      "A host signs each call by HTTP Message Signatures (RFC 9421), with HMAC-SHA256 and the secret that " +
      "both sides have made from its code: method, path, query and digest of the body, when, by whom and " +
      "what for. Answers are signed, too. `docs/design/protocol.md` has the one form that there is.",
  },
} as const;

/** What a route says of itself beyond what it takes and answers. */
interface Declared {
  operationId: string;
  summary: string;
  description?: string;
  tag: keyof typeof TAGS;
  access: Access;
  /** What only this route is refused with; what all of its kind are is derived. */
  codes?: readonly ErrorCode[];
}

/**
 * Declares a route, once: from this come its validation, its place in the document, who may call it and
 * every status that it can be refused with.
 */
export function operation<P extends string, R extends Omit<RouteConfig, "path"> & { path: P } & Declared>(
  route: R,
) {
  const { tag, access, codes: own, description, responses, ...rest } = route;
  const declared = {
    ...rest,
    tags: [tag],
    security: securityOf(access),
    description: [description ?? `${rest.summary}.`, accessText(access)].filter(Boolean).join("\n\n"),
    responses: {
      ...(access === "host" ? withSignature(responses) : responses),
      ...refusals([...new Set([...derivedCodes(route), ...(own ?? [])])], access),
    },
  };
  // Only the document sees what was added: to the handler the route is what it was declared as.
  return createRoute(declared) as unknown as ReturnType<typeof createRoute<P, R>>;
}

/**
 * The same answers, of which those with a text are signed: the bytes of an archive are proven by its name.
 */
function withSignature(responses: RouteConfig["responses"]): RouteConfig["responses"] {
  return Object.fromEntries(
    Object.entries(responses).map(([status, answer]) => {
      if (!("content" in answer) || !("application/json" in (answer.content ?? {}))) return [status, answer];
      return [status, { ...answer, headers: { ...answer.headers, ...headersOf(...SIGNED) } }];
    }),
  );
}

function securityOf(access: Access): Record<string, string[]>[] {
  if (access === "open") return [];
  return access === "host" ? [{ hostSignature: [] }] : [{ bearer: [] }];
}

function accessText(access: Access): string {
  if (access === "open") return "Open: needs no token.";
  return access === "host" ? "Needs the signature of the host." : "Needs the token.";
}

/** What every route of a kind can be refused with: by who may call it, and by what it takes. */
function derivedCodes({ access, request }: Pick<RouteConfig, "request"> & Declared): ErrorCode[] {
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

/** What a client is told beside the body. */
function headersOfRefusal(status: number, codes: readonly ErrorCode[], access: Access) {
  const headers = {
    ...(access === "host" ? headersOf(...SIGNED) : {}),
    ...(status === 429 || status === 503 ? headersOf("Retry-After") : {}),
    ...(status === 401 && codes.includes("unauthorized") ? headersOf("WWW-Authenticate") : {}),
    ...(status === 416 ? headersOf("Content-Range") : {}),
  };
  return Object.keys(headers).length > 0 ? { headers } : {};
}

/** The answers for these codes, by status. `openapi.ts` adds the examples that they refer to. */
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
