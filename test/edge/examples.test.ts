import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keyOf } from "../../src/routes/openapi/example-document.ts";
import { EXAMPLES, type Example } from "../../src/routes/openapi/examples.ts";
import { bootToken } from "../../src/signing/boot-token.ts";
import { hostSecret, readCode } from "../../src/signing/code.ts";
import { contentDigest, digestField } from "../../src/signing/mac.ts";
import { until } from "../local/support/scratch.ts";
import { purposeOf, signedBy } from "../support/signed.ts";
import { DocumentCheck } from "./support/document.ts";
import type { Json } from "./support/edge.ts";
import { type Server, startServer } from "./support/server.ts";

/** With `DROVER_RECORD=1` the answers are written down, to be shown; else they are compared with these. */
const RECORDED = join(import.meta.dirname, "../../src/routes/openapi/example-answers.json");
const recording = process.env.DROVER_RECORD === "1";
const TEXT_CHARS = 400;

interface Answer {
  type: string;
  value: Json;
}

const recorded: Record<string, Answer> = JSON.parse(readFileSync(RECORDED, "utf8"));
const answers: Record<string, Answer> = {};

/** What stands at a JSON pointer. */
function at(value: Json, pointer: string): Json {
  return pointer
    .split("/")
    .slice(1)
    .reduce((inner, key) => inner?.[key], value);
}

/** What an earlier answer has, by `operation/name#pointer`. */
function earlier(place: string): Json {
  const [key = "", pointer = ""] = place.split("#");
  return at(answers[key]?.value, pointer);
}

/** Fields that an answer has only if the example comes before something that happens by itself. */
const FLEETING = new Set(["leftBehind"]);

/** What an answer consists of, whatever it says this time. */
function fieldsOf(value: Json): string[] | string {
  if (typeof value !== "object") return typeof value;
  return Object.keys(value)
    .filter((name) => !FLEETING.has(name))
    .sort();
}

/** The answers as they are shown: long texts by their beginning, and from a Drover that has a name. */
function recordOf(all: Record<string, Answer>, url: string): string {
  const short = (_: string, value: unknown) =>
    typeof value === "string" && value.length > TEXT_CHARS ? `${value.slice(0, TEXT_CHARS)}…` : value;
  const text = JSON.stringify(all, short, 2).replaceAll(url, "https://drover.example.com");
  return text.replaceAll(/http:\/\/127\.0\.0\.1:\d{2,}/g, "https://cloud.example.com");
}

function bodyOf({ body, live = {} }: Example): string | undefined {
  if (body === undefined || typeof body === "string") return body;
  const fields = Object.entries(live).filter(([name]) => name.startsWith("/"));
  const now = Object.fromEntries(fields.map(([name, place]) => [name.slice(1), earlier(place)]));
  return JSON.stringify({ ...body, ...now });
}

describe("the examples of /openapi.json, sent in their order to a real Drover", () => {
  let server: Server;
  let check: DocumentCheck;
  beforeAll(async () => {
    server = await startServer();
    check = new DocumentCheck(await server.json(200, "GET", "/openapi.json"));
  });
  afterAll(async () => {
    await server?.stop();
    if (recording) writeFileSync(RECORDED, recordOf(answers, server.url));
  });

  /** The request of an example: its target, its headers and its body. */
  function requestOf(example: Example) {
    const found = check.operations.find(({ declared }) => declared.operationId === example.operation);
    if (found === undefined) throw new Error(`no operation is called ${example.operation}`);
    const query = new URLSearchParams();
    const headers: Record<string, string> = {};
    let path = found.path;
    for (const [name, shown] of Object.entries(example.params ?? {})) {
      const place = example.live?.[name];
      const value = place === undefined ? shown : earlier(place);
      const declared = found.declared.parameters.find((one: Json) => one.name === name);
      if (declared.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
      else if (declared.in === "header") headers[name] = String(value);
      else for (const one of [value].flat()) query.append(name, String(one));
    }
    const body = bodyOf(example);
    const method = found.method.toUpperCase();
    const scheme = Object.keys(found.declared.security[0] ?? {})[0];
    if (scheme === "bearer") headers.authorization = `Bearer ${server.token}`;
    const { code, worker } = answers["createEnrollment/one"]?.value ?? {};
    if (scheme === "bootToken") headers.authorization = `Bearer ${bootToken(code)}`;
    if (scheme === "hostSignature") {
      const enrollment: Json = EXAMPLES.find(({ operation }) => operation === "enrollHost")?.body;
      const secret = hostSecret(readCode(code)?.key ?? new Uint8Array(), enrollment.salt);
      // What is uploaded has a digest in its name.
      const hex = String(example.params?.snapshot ?? "").slice("sha256:".length);
      const named = digestField(Buffer.from(hex, "hex").toString("base64"));
      const digest = example.operation === "putHostSnapshot" ? named : contentDigest(body ?? "");
      const signer = example.operation === "enrollHost" ? { code } : { worker, secret };
      const line: [string, string] = [method, query.size === 0 ? path : `${path}?${query}`];
      Object.assign(headers, signedBy(signer, purposeOf(method, path), line, "", { digest }));
    }
    const type = Object.keys(found.declared.requestBody?.content ?? {})[0];
    if (type !== undefined && body !== undefined) headers["content-type"] = type;
    return { method, target: `${path}?${query}`, headers, body };
  }

  async function send(example: Example): Promise<Answer & { status: number }> {
    const { method, target, headers, body } = requestOf(example);
    // It holds the answer to the document, too.
    const answer = await server.send(method, target, headers, body);
    const type = answer.headers.get("content-type")?.split(";")[0] ?? "";
    const text = await answer.text();
    return { status: answer.status, type, value: type.endsWith("json") ? JSON.parse(text) : text };
  }

  test.each(EXAMPLES)("$operation: $summary", async (example) => {
    const found = async () => {
      const { status, ...answer } = await send(example);
      const told = `answered ${status}: ${JSON.stringify(answer.value).slice(0, 500)}`;
      const wanted = (at(answer.value, example.until ?? "") ?? null) !== null;
      if (example.until !== undefined && (status !== example.status || !wanted)) return undefined;
      expect([status, told]).toEqual([example.status, told]);
      return answer;
    };
    const answer = await until(`${keyOf(example)} is answered as it is to be`, found);
    if (example.unshown) return;
    answers[keyOf(example)] = answer;
    const shown = recorded[keyOf(example)];
    if (!recording)
      expect([shown?.type, fieldsOf(shown?.value)]).toEqual([answer.type, fieldsOf(answer.value)]);
  });

  test("each operation has one", () => {
    const without = check.operations
      .filter(({ method }) => method !== "head")
      .map(({ declared }) => declared.operationId)
      .filter((id) => !EXAMPLES.some(({ operation }) => operation === id));
    expect(without).toEqual([]);
  });
});
