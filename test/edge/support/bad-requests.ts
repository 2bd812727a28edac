import { expect } from "vitest";
import { MAX_BODY_BYTES, MAX_OPEN_BODY_BYTES, MAX_REPORT_BYTES } from "../../../src/shared/limits.ts";
import { signedBy, strangeSecret } from "../../support/signed.ts";
import { BAD_FIELDS, type BadRequest } from "./bad-fields.ts";
import { BAD_QUERIES } from "./bad-queries.ts";
import { BAD_TASKS } from "./bad-tasks.ts";
import type { Send } from "./edge.ts";
import { ENROLL_REQUEST } from "./samples.ts";

const argv = ["true"];
const invalid = { status: 400, code: "invalid_request" };
const malformed = { status: 400, code: "malformed_json" };
const unauthorized = { status: 401, code: "unauthorized", anonymous: true };
const signature = { status: 401, code: "bad_signature", anonymous: true };
const tooLarge = { status: 413, code: "body_too_large" };
const json = { "content-type": "application/json" };
const line: [string, string] = ["POST", "/v1/hosts/w1/reports"];
const signed = signedBy({ worker: "w1", secret: strangeSecret() }, "report", line);

const HTTP: BadRequest[] = [
  {
    name: "a body that is not JSON",
    method: "POST",
    path: "/v1/runs",
    body: "{argv",
    headers: json,
    ...malformed,
  },
  {
    name: "a variable whose name an object does not keep",
    method: "POST",
    path: "/v1/runs",
    body: '{"argv":["true"],"env":{"\\u005f_proto__":"1"}}',
    headers: json,
    ...invalid,
    pointer: "/env/__proto__",
    detail: "a reserved name",
  },
  {
    name: "a replay from a text that is no instant",
    method: "POST",
    path: "/v1/webhooks/ci/replay",
    body: '{"since":"__proto__"}',
    headers: json,
    ...invalid,
    pointer: "/since",
    detail: "an instant",
  },
  { name: "an empty body", method: "POST", path: "/v1/runs", body: "", headers: json, ...malformed },
  { name: "no body", method: "POST", path: "/v1/runs", ...invalid, pointer: "/argv" },
  {
    name: "another content type",
    method: "POST",
    path: "/v1/runs",
    body: "argv: [true]",
    headers: { "content-type": "application/yaml" },
    status: 415,
    code: "unsupported_media_type",
  },
  {
    name: "a body over the limit",
    method: "POST",
    path: "/v1/runs",
    body: "x".repeat(MAX_BODY_BYTES + 1),
    headers: json,
    ...tooLarge,
  },
  ...["/ui/session", "/v1/oidc/exchange"].map(
    (path): BadRequest => ({
      name: `a body over 64 KiB of a stranger, at ${path}`,
      method: "POST",
      path,
      body: `{"x":"${"x".repeat(MAX_OPEN_BODY_BYTES)}"}`,
      headers: json,
      anonymous: true,
      ...tooLarge,
    }),
  ),
  { name: "an unknown route", method: "GET", path: "/v1/nothing", status: 404, code: "not_found" },
  { name: "an unknown route outside", method: "GET", path: "/nothing", status: 404, code: "not_found" },
  {
    name: "a method that is not there",
    method: "DELETE",
    path: "/v1/runs",
    status: 405,
    code: "method_not_allowed",
  },
  {
    name: "a method that is not there",
    method: "PUT",
    path: "/v1/runs/a",
    status: 405,
    code: "method_not_allowed",
  },
  { name: "an unknown run", method: "GET", path: "/v1/runs/no-such-run", status: 404, code: "unknown_run" },
  {
    name: "the log of an unknown run",
    method: "GET",
    path: "/v1/runs/no-such-run/logs/main/stdout",
    status: 404,
    code: "unknown_run",
  },
  {
    name: "the events of an unknown run",
    method: "GET",
    path: "/v1/runs/no-such-run/events",
    status: 404,
    code: "unknown_run",
  },
  {
    name: "a stream of events of an unknown run",
    method: "GET",
    path: "/v1/runs/no-such-run/events",
    headers: { accept: "text/event-stream" },
    status: 404,
    code: "unknown_run",
  },
  {
    name: "an abort of an unknown run",
    method: "POST",
    path: "/v1/runs/no-such-run/abort",
    status: 404,
    code: "unknown_run",
  },
  {
    name: "an abort with an unknown field",
    method: "POST",
    path: "/v1/runs/a/abort",
    body: { why: "x" },
    ...invalid,
    pointer: "/why",
  },
  {
    name: "a query for an unknown run",
    method: "GET",
    path: "/v1/runs?id=no-such-run",
    status: 404,
    code: "unknown_run",
  },
  {
    name: "an unknown pool",
    method: "GET",
    path: "/v1/pools/no-such-pool",
    status: 404,
    code: "unknown_pool",
  },
  {
    name: "a list of an unknown pool",
    method: "GET",
    path: "/v1/runs?pool=no-such-pool",
    status: 404,
    code: "unknown_pool",
  },
  {
    name: "an abort of many in an unknown pool",
    method: "POST",
    path: "/v1/runs/abort",
    body: { pool: "no-such-pool" },
    status: 404,
    code: "unknown_pool",
  },
  {
    name: "a run for an unknown pool",
    method: "POST",
    path: "/v1/runs",
    body: { argv, pool: "no-such-pool" },
    status: 404,
    code: "unknown_pool",
  },
];

const AUTH: BadRequest[] = [
  { name: "no token", method: "GET", path: "/v1/runs", ...unauthorized },
  { name: "no token for a write", method: "POST", path: "/v1/runs", body: { argv }, ...unauthorized },
  { name: "no token on an unknown route", method: "GET", path: "/v1/nothing", ...unauthorized },
  {
    name: "a wrong token",
    method: "GET",
    path: "/v1/runs",
    headers: { authorization: "Bearer nope" },
    ...unauthorized,
  },
  {
    name: "another scheme",
    method: "GET",
    path: "/v1/runs",
    headers: { authorization: "Basic eDp5" },
    ...unauthorized,
  },
  {
    name: "an empty token",
    method: "GET",
    path: "/v1/runs",
    headers: { authorization: "Bearer " },
    ...unauthorized,
  },
];

const HOSTS: BadRequest[] = [
  {
    name: "a report without a signature",
    method: "POST",
    path: "/v1/hosts/w1/reports",
    body: {},
    ...signature,
  },
  { name: "a join without a signature", method: "POST", path: "/v1/hosts/w1/join", body: {}, ...signature },
  {
    name: "a report with half a signature",
    method: "POST",
    path: "/v1/hosts/w1/reports",
    body: {},
    headers: { "content-digest": signed["content-digest"], signature: signed.signature },
    ...signature,
  },
  {
    name: "an enrollment without a signature",
    method: "POST",
    path: "/v1/hosts/enroll",
    body: ENROLL_REQUEST,
    ...signature,
  },
  {
    name: "an enrollment with a code that is none",
    method: "POST",
    path: "/v1/hosts/enroll",
    body: ENROLL_REQUEST,
    headers: signedBy(
      { code: "drvc_x" },
      "enroll",
      ["POST", "/v1/hosts/enroll"],
      JSON.stringify(ENROLL_REQUEST),
    ),
    ...signature,
  },
  {
    name: "a report over 1 MiB",
    method: "POST",
    path: "/v1/hosts/w1/reports",
    body: "x".repeat(MAX_REPORT_BYTES + 1),
    headers: { ...signed, ...json },
    anonymous: true,
    ...tooLarge,
  },
  {
    name: "a host with odd characters",
    method: "POST",
    path: "/v1/hosts/W_1/reports",
    body: {},
    headers: signed,
    anonymous: true,
    ...invalid,
    pointer: "{worker}",
  },
];

/** Every kind of bad input, for an app in this process and for a server alike. */
export const BAD_REQUESTS: BadRequest[] = [
  ...BAD_FIELDS,
  ...BAD_QUERIES,
  ...BAD_TASKS,
  ...HTTP,
  ...AUTH,
  ...HOSTS,
];

/**
 * Sends a bad request and checks that the answer is a problem document that names the mistake and its place.
 */
export async function expectRefusal(send: Send, token: string, bad: BadRequest): Promise<void> {
  const asIs = typeof bad.body === "string" || bad.body === undefined;
  const answer = await send(
    bad.method,
    bad.path,
    {
      ...(bad.anonymous ? {} : { authorization: `Bearer ${token}` }),
      ...(asIs ? {} : json),
      ...bad.headers,
    },
    asIs ? (bad.body as string | undefined) : JSON.stringify(bad.body),
  );
  const text = await answer.text();
  expect(`${answer.status} ${text}`).toContain(`${bad.status} {`);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  const problem = JSON.parse(text);
  expect(problem).toMatchObject({ status: bad.status, code: bad.code, temporary: false });
  for (const member of ["type", "title", "detail", "instance"]) expect(problem[member]).toMatch(/\S/);
  if (bad.pointer !== undefined) expect(problem.errors[0].pointer).toBe(bad.pointer);
  if (bad.detail !== undefined) expect(problem.errors[0].detail).toContain(bad.detail);
  if (bad.status === 401 && bad.code === "unauthorized") {
    expect(answer.headers.get("www-authenticate")).toContain("Bearer");
  }
  if (bad.status === 405) expect(answer.headers.get("allow")).toContain("GET");
}
