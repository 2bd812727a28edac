import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import type { Json } from "./support/edge.ts";
import { type Server, startServer } from "./support/server.ts";

// Open streams of a real Drover end once their caller may not read them any more. What is read goes on for
// ever, so a stream asks its object again and again, and a stream that nobody ends never ends.

let server: Server;
let run: string;
beforeAll(async () => {
  server = await startServer();
  const script = "trap : USR1; while :; do echo more; sleep 0.1; done";
  const spec = { argv: ["sh", "-c", script], resources: { vcpus: 0, memory: "16MiB" } };
  ({ id: run } = await server.json(201, "POST", "/v1/runs", spec));
  await until("the run writes", async () => (await lengthOfLog()) > 0 || undefined);
});
afterAll(() => server.stop());

const LOG = () => `/v1/runs/${run}/logs/main/stdout`;
const lengthOfLog = async () => (await (await server.call("GET", LOG())).text()).length;

/** A stream that is being read: how much has come, and whether it has ended, in whichever way. */
function watched(answer: Response) {
  expect(answer.status).toBe(200);
  const seen = { bytes: 0, isOver: false };
  const read = async () => {
    for await (const piece of answer.body ?? []) seen.bytes += piece.length;
  };
  void read()
    .catch(() => undefined)
    .then(() => {
      seen.isOver = true;
    });
  return seen;
}

/** Something happens to the run that its events tell. */
const stir = () => server.json(200, "POST", `/v1/runs/${run}/signal`, { signal: "SIGUSR1" });

/** A new token, or a session of a new token, as headers; and how to end it. */
interface Access {
  headers: Record<string, string>;
  end(): Promise<unknown>;
}
let made = 0;
async function token(): Promise<Access & { text: string }> {
  made += 1;
  const body = { name: `reader-${made}`, preset: "viewer" };
  const { id, token: text }: Json = await server.json(201, "POST", "/v1/tokens", body);
  const end = () => server.json(200, "DELETE", `/v1/tokens/${id}`);
  return { text, headers: { authorization: `Bearer ${text}` }, end };
}
async function session(): Promise<Access> {
  const type = { "content-type": "application/json" };
  const { text } = await token();
  const answer = await server.send("POST", "/ui/session", type, JSON.stringify({ token: text }));
  expect(answer.status).toBe(204);
  const cookie = answer.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const id = /=drvs_(.{10})/.exec(cookie)?.[1];
  return { headers: { cookie }, end: () => server.call("DELETE", `/v1/sessions/${id}`) };
}

describe.each<[string, () => Promise<Access>]>([
  ["a token that is revoked", token],
  ["a browser session that is ended", session],
])("the open streams of %s (access.md#walls)", (_name, access) => {
  test.each<[string, () => string, string]>([
    ["a log", () => `${LOG()}?follow=1`, "*/*"],
    ["events of a run", () => `/v1/runs/${run}/events`, "text/event-stream"],
  ])("end: %s", async (what, path, accept) => {
    const reader = await access();
    const seen = watched(await server.send("GET", path(), { ...reader.headers, accept }));
    const other = watched(await server.call("GET", path(), undefined, { accept }));
    await until(`${what} comes`, async () => (seen.bytes > 0 && other.bytes > 0) || undefined);
    await reader.end();
    await stir();
    await until(`the stream of ${what} ends`, () => seen.isOver || undefined);
    expect(other.isOver).toBe(false);
  });
});
