import { lostNames } from "../../../src/schema/lost-names.ts";
import {
  MAX_BODY_BYTES,
  MAX_LOG_CHUNK_BYTES,
  MAX_OPEN_BODY_BYTES,
  MAX_REPORT_BYTES,
} from "../../../src/shared/limits.ts";
import { bootToken } from "../../../src/signing/boot-token.ts";
import { digestField } from "../../../src/signing/mac.ts";
import type { Json } from "../../edge/support/edge.ts";
import type { HttpHost } from "../../edge/support/http-host.ts";
import { purposeOf, signedBy } from "../../support/signed.ts";
import { BASES } from "./bases.ts";
import { changedBody } from "./body.ts";
import { lackedOf, lacks } from "./callers.ts";
import type { Wire } from "./http.ts";
import type { Cell, Change } from "./mutations.ts";
import type { Document, Operation, Site } from "./operations.ts";
import { branchesOf, faultsOf, resolved, type Schema, type Schemas } from "./schema.ts";
import { BYTES, type World } from "./world.ts";

/**
 * The expected answer to a request. `refused`: the document does not allow it, and where. `open`: by the
 * document it may be accepted or refused. `elsewhere`: its path may lead to another route. `lacking`: its
 * caller lacks the scope, which is seen before anything of the request but its size and its lost names.
 */
export type Expectation =
  | { as: "refused"; where: string }
  | { as: "open" }
  | { as: "elsewhere" }
  | { as: "lacking"; scope: string; before: string[] }
  | { as: "code"; codes: string[] };

/** A request, and the answer that is expected. `lacked`: scopes that an answer may say its caller lacks. */
export interface Planned {
  wire: Wire;
  expected: Expectation;
  lacked: string[];
}

/** A request in parts. Names and values in the path and the query are encoded, as they are sent. */
interface Draft {
  method: string;
  path: Record<string, string>;
  query: [string, string][];
  headers: [string, string][];
  body?: Buffer;
  behind: string;
  unsigned: boolean;
}

const OTHER_METHODS = ["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "PROPFIND"];
const OTHER_TYPES = [
  ...[
    "text/plain",
    "application/xml",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
  ],
  ...["application/octet-stream", "///", "application/jsonx", "text/json; a=b"],
];
const BROKEN = [
  "{",
  '{"argv":',
  "[1,]",
  "{'a':1}",
  "\u0000",
  "nul",
  '{"a":1}}',
  '"\\ud8"',
  "\ufeff{}x",
  "01",
];
const ODD_HEADERS: [string, string][] = [
  ["range", "bytes=0-"],
  ["range", "lines=1-2"],
  ["range", "bytes=99999999999999-"],
  ["last-event-id", "x"],
  ["last-event-id", "0"],
  ["accept", "text/event-stream"],
  ["accept", "image/png"],
  ["accept-encoding", "zzz"],
  ["content-encoding", "gzip"],
  ["if-none-match", "*"],
  ["if-match", '"x"'],
  ["if-modified-since", "yesterday"],
  ["x-http-method-override", "DELETE"],
  ["cookie", "a".repeat(4_000)],
  ["origin", "http://127.0.0.1:1"],
];
const MISTAKES = ["%", "%zz", "/%2e%2e", "/..", "%00", "%C3", "//", ";x", "%2F"];
/** The errors of a host's call that come before its body is read. */
const SIGNATURE = ["bad_signature"];

/** Makes the request of a cell. */
export async function plan(doc: Document, world: World, cell: Cell, change: Change, pick: number) {
  const { operation, site } = cell;
  const speaker = await world.speakerOf(operation.path);
  const draft = baseOf(world, cell, speaker, pick);
  const bases = BASES[operation.name]?.(world, speaker) ?? [];
  const json = (text: string) => {
    draft.body = Buffer.from(text);
    draft.headers.push(["content-type", "application/json"]);
  };
  let expected: Expectation = { as: "open" };
  if (operation.body !== undefined && site.in !== "body") json(JSON.stringify(fullest(bases, pick)));
  if (site.in === "body") {
    const text = changedBody(operation, doc.schemas, bases, site, change);
    json(text);
    expected = expectedOfBody(doc, operation, site, text);
  } else if (change.what === "request") expected = spoil(doc, draft, operation, change);
  else expected = changeParameter(doc, draft, site, change);
  if (operation.name === "POST /v1/runs" && site.name === "idempotency-key" && expected.as === "open") {
    draft.body = Buffer.from(JSON.stringify({ argv: ["true"], pool: "fuzz" }));
  }
  if (operation.signed && !draft.unsigned) sign(world, operation, draft, speaker, site);
  const wire = wireOf(operation, draft);
  return { wire, ...byCaller(doc, world, cell, wire, expected) } satisfies Planned;
}

/** What is expected, if one considers who asks. */
function byCaller(
  doc: Document,
  { secrets }: World,
  { operation, caller }: Cell,
  wire: Wire,
  expected: Expectation,
): Pick<Planned, "expected" | "lacked"> {
  const isSent = wire.headers.some(([, value]) => value === `Bearer ${secrets[caller]}`);
  if (!operation.secured || !isSent) return { expected, lacked: [] };
  if (expected.as === "elsewhere" || wire.method !== operation.method)
    return { expected, lacked: lackedOf(doc, caller, wire.method) };
  if (!lacks(caller, operation)) return { expected, lacked: [] };
  const isTooLarge = expected.as === "code" && expected.codes.includes("body_too_large");
  const isJson = wire.headers.some(([name, value]) => name === "content-type" && /\bjson\b/i.test(value));
  const isLossy = isJson && lostNames(String(wire.body ?? "")).length > 0;
  const before = isTooLarge ? ["body_too_large"] : isLossy ? ["invalid_request"] : [];
  const { access } = operation;
  return { expected: { as: "lacking", scope: access, before }, lacked: [access] };
}

/** Signs a request as it is sent, except for the headers that are changed. */
function sign(world: World, operation: Operation, draft: Draft, speaker: HttpHost, site: Site): void {
  const { path: target = "", method } = wireOf(operation, draft);
  const { pathname, search } = new URL(target, "http://drover.test");
  // A snapshot is streamed: the digest in its name is signed.
  const hex = /\/snapshots\/sha256(?::|%3A)([0-9a-f]+)$/.exec(pathname)?.[1];
  const named = method === "PUT" && hex !== undefined;
  const digest = named ? { digest: digestField(Buffer.from(hex, "hex").toString("base64")) } : {};
  const purpose = purposeOf(operation.method, operation.path);
  const signer = purpose === "enroll" ? { code: world.invitation.code } : speaker;
  const signed = signedBy(signer, purpose, [method, `${pathname}${search}`], draft.body, digest);
  const own = new Set(draft.headers.map(([name]) => name));
  const changed = site.in === "header" ? site.name : "";
  for (const [name, value] of Object.entries(signed)) {
    if (!own.has(name) && name !== changed) draft.headers.push([name, value]);
  }
}

function fullest(bases: Json[], pick: number): Json {
  return bases[pick % Math.max(1, bases.length)] ?? {};
}

function baseOf(world: World, { operation, caller }: Cell, speaker: HttpHost, pick: number): Draft {
  const path: Record<string, string> = {};
  for (const site of operation.sites.filter((one) => one.in === "path")) {
    const value = site.name === "worker" ? speaker.worker : world.pathValue(operation.name, site.name, pick);
    path[site.name] = encodeURIComponent(value);
  }
  const offset: [string, string][] = operation.path.includes("/logs/{attempt}") ? [["offset", "0"]] : [];
  const token: [string, string][] = operation.secured
    ? [["authorization", `Bearer ${world.secrets[caller]}`]]
    : [];
  const isBoot = operation.path === "/v1/hosts/boot";
  const bytes = operation.bodyTypes[0] === "application/octet-stream" ? BYTES : isBoot ? BOOT : undefined;
  const body = bytes === undefined ? {} : { body: bytes };
  return {
    method: operation.method,
    path,
    query: offset,
    headers: isBoot ? bootHeaders(world) : token,
    behind: "",
    unsigned: false,
    ...body,
  };
}

const BOOT = Buffer.from("boot fuzz\n1 begin its script has begun\n2 now\n");

/** What a machine that boots as the invited host sends. */
function bootHeaders({ invitation }: World): [string, string][] {
  return [
    ["authorization", `Bearer ${bootToken(invitation.code)}`],
    ["content-type", "text/plain"],
  ];
}

function wireOf(operation: Operation, draft: Draft): Wire {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => draft.path[name] ?? "");
  const query = draft.query.map(([name, value]) => `${name}=${value}`).join("&");
  const { method, headers, body } = draft;
  const whole = `${path}${draft.behind}${query === "" ? "" : `?${query}`}`;
  return { method, path: whole, headers, ...(body === undefined ? {} : { body }) };
}

/** How large the body of an operation may be. */
function limitOf({ path }: Operation): number {
  if (path.startsWith("/v1/hosts")) return MAX_REPORT_BYTES;
  const isOpen = path.startsWith("/v1/oidc/") || path === "/ui/session";
  return isOpen ? MAX_OPEN_BODY_BYTES : MAX_BODY_BYTES;
}

function expectedOfBody({ schemas }: Document, operation: Operation, site: Site, text: string): Expectation {
  const limit = limitOf(operation);
  if (Buffer.byteLength(text) > limit) return { as: "code", codes: ["body_too_large"] };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { as: "code", codes: ["malformed_json"] };
  }
  const faults = faultsOf(operation.body ?? {}, schemas, value);
  return faults.length === 0 ? { as: "open" } : { as: "refused", where: site.name };
}

/** Changes one parameter. */
function changeParameter(doc: Document, draft: Draft, site: Site, change: Change): Expectation {
  const values =
    change.what === "twice"
      ? change.texts.flatMap(valuesIn)
      : "text" in change
        ? valuesIn(asJson(change))
        : [];
  switch (site.in) {
    case "path":
      return changePath(doc, draft, site, change, values[0] ?? "");
    case "query": {
      draft.query = draft.query.filter(([name]) => name !== site.name);
      const sent = change.what === "raw" ? [change.text] : values.map((one) => encodeURIComponent(well(one)));
      draft.query.push(...sent.map((value): [string, string] => [site.name, value]));
      if (change.what === "raw") return { as: "open" };
      return textExpectation(doc, site, values.map(well), `?${site.name}`);
    }
    default: {
      const sent = values.map(headerText);
      draft.headers.push(...sent.map((value): [string, string] => [site.name, value]));
      if (/^(?:content-digest|signature)/.test(site.name)) return { as: "open" };
      // Two headers with the same name are one, with a comma; an empty one counts as none.
      if (sent.length !== 1 || sent[0]?.trim() === "") return { as: "open" };
      return textExpectation(doc, site, [sent[0]?.trim() ?? ""], `${site.name}:`);
    }
  }
}

function changePath(doc: Document, draft: Draft, site: Site, change: Change, value: string): Expectation {
  draft.path[site.name] = change.what === "raw" ? change.text : encodeURIComponent(well(value));
  if (change.what === "raw" || /^\.{0,2}$/.test(value)) return { as: "elsewhere" };
  return textExpectation(doc, site, [well(value)], `{${site.name}}`);
}

/** The value that a change would set: JSON text, or for `raw` in a parameter plain text. */
const asJson = (change: { what: string; text: string }) =>
  change.what === "raw" ? JSON.stringify(change.text) : change.text;

function valuesIn(text: string): string[] {
  const value: unknown = JSON.parse(text);
  return (Array.isArray(value) ? value : [value]).map((one) =>
    typeof one === "string" ? one : JSON.stringify(one),
  );
}

const well = (text: string) => text.toWellFormed();

/** The bytes of a text in UTF-8, except those that no header can have. */
function headerText(value: string): string {
  return Buffer.from(value)
    .toString("latin1")
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, "");
}

function textExpectation({ schemas }: Document, site: Site, values: string[], where: string): Expectation {
  const schema = resolved(site.schema, schemas);
  const isList = schema.type === "array";
  const one = isList ? resolved(schema.items ?? {}, schemas) : schema;
  if (values.length === 0) return site.required ? { as: "refused", where } : { as: "open" };
  if (values.length > 1 && !isList) return { as: "refused", where };
  return values.every((value) => fitsAsText(one, schemas, value)) ? { as: "open" } : { as: "refused", where };
}

/** Whether a text fits one form of its schema. Digits are a number only where that form is one. */
function fitsAsText(schema: Schema, schemas: Schemas, value: string): boolean {
  return branchesOf(schema, schemas).some((form) => {
    const isNumber = form.type === "integer" || form.type === "number";
    if (isNumber && !/^-?\d+$/.test(value)) return false;
    return faultsOf(form, schemas, isNumber ? Number(value) : value).length === 0;
  });
}

/** Spoils the request as a whole. */
function spoil(
  doc: Document,
  draft: Draft,
  operation: Operation,
  { how, pick }: Change & { what: "request" },
): Expectation {
  const from = <T>(all: readonly T[]) => all[pick % all.length] as T; // no list here is empty
  const replaceType = (type: string) => {
    draft.headers = [...draft.headers.filter(([name]) => name !== "content-type"), ["content-type", type]];
  };
  switch (how) {
    case "method": {
      const taken = doc.operations.filter(({ path }) => path === operation.path).map(({ method }) => method);
      draft.method = from(OTHER_METHODS.filter((method) => !taken.includes(method)));
      // With this method the path may have another form, such as /v1/runs/{id} for /v1/runs/query.
      return {
        as: "code",
        codes: ["method_not_allowed", "invalid_request", "malformed_json", "unknown_run"],
      };
    }
    case "content-type":
      replaceType(from(OTHER_TYPES));
      if (operation.body === undefined || operation.signed) return { as: "open" };
      return { as: "code", codes: ["unsupported_media_type"] };
    case "broken-json":
      draft.body = Buffer.from(from(BROKEN));
      return { as: "code", codes: ["malformed_json", ...(operation.signed ? ["invalid_request"] : [])] };
    case "no-body":
      draft.body = Buffer.alloc(0);
      if (pick % 2 === 0) draft.headers = draft.headers.filter(([name]) => name !== "content-type");
      return { as: "open" };
    case "large-body": {
      // A snapshot is streamed, and may have gigabytes.
      if (operation.path.includes("/snapshots/")) return { as: "open" };
      const isLog = operation.path.includes("/logs/");
      const isHost = operation.path.startsWith("/v1/hosts/");
      draft.body = Buffer.alloc(
        (isLog ? MAX_LOG_CHUNK_BYTES : isHost ? MAX_REPORT_BYTES : MAX_BODY_BYTES) + 1,
        " ",
      );
      return { as: "code", codes: ["body_too_large", ...(isHost ? SIGNATURE : [])] };
    }
    case "unknown-query": {
      const name = from(["unknown", "__proto__", "constructor", "%00", "a%5Bb%5D", "WAIT"]);
      draft.query.push([name, "1"]);
      // A person may follow a link to this address with a tracker's parameters in it. The query of a page of
      // the dashboard is for a script there.
      return operation.path.includes("/v1/hosts/{worker}/join") ||
        /^\/(?:ui(?:\/\{|$)|$)/.test(operation.path)
        ? { as: "open" }
        : { as: "refused", where: `?${decodeURIComponent(name)}` };
    }
    case "long-path":
      draft.behind = from(["/", "/x", "/x".repeat(500), `/${"y".repeat(4_000)}`]);
      return { as: "elsewhere" };
    case "encoding":
      draft.behind = from(MISTAKES);
      return { as: "elsewhere" };
    case "no-token":
      draft.headers = draft.headers.filter(([name]) => name !== "authorization");
      return { as: "code", codes: ["unauthorized"] };
    case "bad-token": {
      const bad = from([
        "Bearer",
        "Bearer x",
        "Bearer  ",
        "Basic eDp4",
        "",
        "Bearer é",
        `Bearer ${"x".repeat(5_000)}`,
      ]);
      draft.headers = [
        ...draft.headers.filter(([name]) => name !== "authorization"),
        ["authorization", headerText(bad)],
      ];
      return { as: "code", codes: ["unauthorized"] };
    }
    case "odd-headers":
      draft.headers.push(from(ODD_HEADERS));
      return { as: "open" };
    case "bad-signature": {
      draft.unsigned = true;
      const signature = from(["", "drover=::", "drover=:AAAA:", "é", "drover=:%%%:", "x".repeat(3_000)]);
      const form = 'drover=("@method" "@path" "@query" "content-digest")';
      const input = from(["", form, `${form};created=1e9`, `${form};created=1`, "y".repeat(5_000)]);
      const digest = from(["", "sha-256=::", `sha-256=:${"A".repeat(43)}=:`, "md5=:AAAA:"]);
      draft.headers.push(
        ["content-digest", digest],
        ["signature-input", input],
        ["signature", headerText(signature)],
      );
      // Whether the request asks for a socket is checked first.
      return { as: "code", codes: [...SIGNATURE, "upgrade_required"] };
    }
    default:
      throw new Error(`nobody knows how to do ${how}`);
  }
}
