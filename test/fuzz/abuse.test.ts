import { rmSync } from "node:fs";
import { type ClientRequest, request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAX_BODY_BYTES } from "../../src/shared/limits.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "../edge/support/drover.ts";
import { watchPeaks } from "../edge/support/peaks.ts";
import { until } from "../local/support/scratch.ts";
import { purposeOf, signedBy, strangeSecret } from "../support/signed.ts";

// What anybody can do who reaches the port, without a token: nothing ends the control plane, and its memory
// stays in bounds. `npx vitest run test/fuzz/abuse.test.ts` prints how much it was.

/** What workerd may have resident, whatever is sent to it: a few bodies of the largest size, and itself. */
const MAX_RESIDENT_BYTES = 400_000_000;
const PIECE = Buffer.alloc(256 * 1_024, " ");
const AT_ONCE = 8;
/** More than any body may have, and less than is worth waiting for. */
const ENDLESS_BYTES = 6 * MAX_BODY_BYTES;

let home: string;
let up: RunningDrover;
let watch: ReturnType<typeof watchPeaks>;
beforeAll(async () => {
  home = makeHome("abuse");
  up = await startDrover(home);
  watch = watchPeaks(up.stateDir, up.pid);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

/** Its status, or how the connection ended; and how much of the body could be sent. */
interface Ended {
  status: number | string;
  sent: number;
}

/** Begins a request without a length. */
function begin(method: string, path: string): { call: ClientRequest; status: Promise<number | string> } {
  const { hostname, port } = new URL(up.url);
  const headers = {
    "content-type": path.includes("/logs/") ? "application/octet-stream" : "application/json",
    ...signedBy({ worker: "nobody", secret: strangeSecret() }, purposeOf(method, path), [method, path]),
  };
  const call = request({ hostname, port, method, path, headers, agent: false });
  const status = new Promise<number | string>((resolve) => {
    call.on("response", (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    call.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    call.on("close", () => resolve("closed"));
  });
  return { call, status };
}

/** Sends a body without an end, until it is answered or cut off. */
async function endless(method: string, path: string): Promise<Ended> {
  const { call, status } = begin(method, path);
  let [sent, over] = [0, false];
  const ended = status.then((how) => {
    over = true;
    return how;
  });
  while (!over && sent < ENDLESS_BYTES) {
    const goesOn = new Promise<void>((resolve) => call.write(PIECE, () => resolve()));
    await Promise.race([goesOn, ended]);
    sent += PIECE.length;
  }
  const how = over ? await ended : "still taken";
  call.destroy();
  return { status: how, sent };
}

const alive = async () => expect((await fetch(`${up.url}/healthz`)).status).toBe(200);

const OPEN: [string, string][] = [
  ["POST", "/v1/hosts/enroll"],
  ["POST", "/v1/hosts/nobody/join"],
  ["POST", "/v1/hosts/nobody/reports"],
  ["PUT", "/v1/hosts/nobody/logs/nobody%2Fmain%2F1.1/stdout?offset=0"],
  ["POST", "/v1/runs"],
  ["GET", "/healthz"],
];

describe("a body without an end is refused or cut off, and nothing else is hindered", () => {
  test.each(OPEN)("%s %s", async (method, path) => {
    const ended = await Promise.all(Array.from({ length: AT_ONCE }, () => endless(method, path)));
    for (const { status } of ended) {
      if (typeof status === "number") expect(status).toBeLessThan(500);
    }
    await alive();
  });
});

test("200 bodies that never end, byte by byte, hinder nobody", async () => {
  const slow = Array.from({ length: 200 }, () => begin("POST", "/v1/hosts/enroll"));
  for (const { call } of slow) call.write("{");
  await alive();
  for (const { call } of slow) call.write(" ");
  const { id } = await up.json(201, "POST", "/v1/runs", { argv: ["true"] });
  expect(await up.json(200, "GET", `/v1/runs/${id}?wait=30s`)).toMatchObject({ state: "complete" });
  for (const { call } of slow) call.destroy();
  await Promise.all(slow.map(({ status }) => status));
});

test("1,000 requests at once on the open routes are all answered", async () => {
  const paths = [
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/agent/install.sh",
    "/v1/runs",
    "/v1/hosts/x/socket",
  ];
  const calls = Array.from({ length: 1_000 }, async (_, n) => {
    const answer = await fetch(`${up.url}${paths[n % paths.length]}`);
    await answer.arrayBuffer();
    return answer.status;
  });
  const statuses = new Set(await Promise.all(calls));
  expect([...statuses].sort()).toEqual([200, 401]);
  await alive();
});

test("1,000 readers of the largest open answer are all served", async () => {
  let left = 1_000;
  const read = async () => {
    for (; left > 0; left -= 1) {
      const { status, body } = await fetch(`${up.url}/openapi.json`);
      expect(status).toBe(200);
      await body?.pipeTo(new WritableStream());
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, read));
});

test("memory has stayed in bounds", async () => {
  const peak = await until("it was seen", () => watch.stop().worker || undefined);
  console.info(`workerd had ${Math.round(peak / 1e6)} MB resident at most`);
  expect(peak).toBeLessThan(MAX_RESIDENT_BYTES);
});
