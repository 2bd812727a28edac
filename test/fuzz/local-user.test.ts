import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readOwnFile } from "../../cli/own-file.ts";
import { sized } from "../chance/length.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "../edge/support/drover.ts";

// Another user of the machine: whatever that user sends to the ports of a `drover up`, and whatever files
// that user leaves where commands look for a context, no secret comes out, nothing is done, and nothing
// stops.

const isRoot = process.geteuid?.() === 0;
const NOBODY = 65_534;
const REQUESTS = sized(300, 1_500);
const FILES = sized(150, 600);
/** An answer that has not come by then does not come: nothing here is asked to wait. */
const ANSWER_WITHIN_MS = 3_000;

let home: string;
let up: RunningDrover;
let secrets: string[];
let ports: number[];
beforeAll(async () => {
  home = makeHome("local-user");
  up = await startDrover(home);
  const identity = JSON.parse(readFileSync(join(up.stateDir, "up.json"), "utf8"));
  secrets = [identity.token, identity.signingKey, identity.providerSecret];
  ports = [identity.port, identity.cloudPort];
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

/** What anybody may read: it says nothing of this Drover but that it is one. */
const OPEN = /^(?:GET|HEAD) \/(?:$|docs|openapi\.json|healthz|readyz|proof|agent\/)/;

const METHODS = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "TRACE",
  "CONNECT",
  "PRI",
  "get",
];
const PATHS = [
  "/",
  "/v1/runs",
  "/v1/runs/query",
  "/v1/runs/abort",
  "/v1/runs/r-1/logs/main/stdout",
  "/v1/pools/default",
  "/v1/workers",
  "/v1/workers/default-1/kill",
  "/v1/enrollments",
  "/v1/hosts/default-1/reports",
  "/v1/hosts/default-1/socket",
  "/v1/hosts/enroll",
  "/v1/snapshots/sha256:00",
  "/v1/events",
  "/metrics",
  "/instances",
  "/instances?tag=x",
  "/proof?nonce=0123456789abcdef",
  "/healthz",
  "/cdn-cgi/local/r2/public/drover-logs/x",
  "/cdn-cgi/local/scheduled?cron=x",
  "/cdn-cgi/mf/scheduled",
  "/__cf_local/",
  "//v1/runs",
  "/v1/../v1/runs",
  "/%2e%2e/v1/runs",
  "http://127.0.0.1/v1/runs",
  "*",
];
const HEADERS = [
  "Authorization: Bearer drv_x",
  "Authorization: Bearer",
  "Authorization: Basic OnBhc3M=",
  "Authorization: Bearer undefined",
  "Origin: http://localhost:3000",
  "Host: evil.example",
  "MF-Op: kv",
  "MF-Original-URL: http://x/cdn-cgi/local/scheduled",
  "MF-Custom-Service: drover",
  "CF-Connecting-IP: 127.0.0.1",
  "X-Forwarded-For: 127.0.0.1",
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Connection: close",
  "Transfer-Encoding: chunked",
  "Content-Length: -1",
  "Expect: 100-continue",
  "capnp-connect: 1",
];

/** A request in which everything may be wrong, or no request at all. */
const anything = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .record({
        method: fc.oneof(fc.constantFrom(...METHODS), fc.string({ maxLength: 12 })),
        path: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...PATHS) }, fc.string({ maxLength: 60 })),
        host: fc.boolean(),
        headers: fc.subarray(HEADERS, { maxLength: 5 }),
        body: fc.oneof(fc.constant(""), fc.json(), fc.string({ maxLength: 400 })),
      })
      .map(({ method, path, host, headers, body }) => {
        const length = `Content-Length: ${Buffer.byteLength(body)}`;
        const lines = [`${method} ${path} HTTP/1.1`, ...(host ? ["Host: @"] : []), ...headers, length];
        return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
      }),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)) },
);

/** What comes back for these bytes, until the other side ends it or nothing more comes. */
function answerTo(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: "127.0.0.1", port });
    let heard = "";
    const end = () => {
      socket.destroy();
      resolve(heard);
    };
    socket.setTimeout(ANSWER_WITHIN_MS, end);
    socket.on("data", (data) => {
      heard += data.toString("latin1");
      // The head of the answer decides; what follows of it comes at once.
      if (heard.includes("\r\n\r\n")) setTimeout(end, 5);
    });
    socket.on("error", end);
    socket.on("close", end);
    socket.write(
      Buffer.from(bytes.toString("latin1").replace("Host: @", `Host: 127.0.0.1:${port}`), "latin1"),
    );
  });
}

const kept = async () => {
  const read = async (path: string) => (await up.json(200, "GET", path)).items.length;
  return [await read("/v1/runs"), await read("/v1/pools"), await read("/v1/workers")];
};

test("whatever another user sends to its ports, a Drover does nothing for it, and tells no secret", {
  timeout: 300_000,
}, async () => {
  const before = await kept();
  const request = fc.record({ bytes: anything, port: fc.nat(1) });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 6, maxLength: 6 }), async (requests) => {
      const answers = await Promise.all(
        requests.map(async ({ bytes, port }) => ({
          asked: bytes.toString("latin1"),
          heard: await answerTo(ports[port] ?? 0, bytes),
        })),
      );
      for (const { asked, heard } of answers) {
        const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(heard)?.[1] ?? 400);
        const isDone = status >= 200 && status < 300;
        expect([asked, isDone && !OPEN.test(asked.replace("http://127.0.0.1", ""))]).toEqual([asked, false]);
        for (const secret of secrets) expect(heard).not.toContain(secret);
      }
    }),
    { numRuns: Math.ceil(REQUESTS / 6) },
  );
  expect(await kept()).toEqual(before);
  expect((await fetch(`${up.url}/healthz`)).status).toBe(200);
});

// cli/own-file.ts: what decides where tokens and commands go.
test.skipIf(!isRoot)("whatever files another user leaves, only one of the caller's own is believed", () => {
  const mode = fc.constantFrom(0o400, 0o600, 0o604, 0o620, 0o640, 0o644, 0o666, 0o700, 0o755, 0o770, 0o777);
  const owner = fc.constantFrom(0, NOBODY);
  const text = '{"url":"http://127.0.0.1:1","token":"t"}';
  const made = fc.record({ dirMode: mode, fileMode: mode, dirOwner: owner, fileOwner: owner });
  fc.assert(
    fc.property(made, ({ dirMode, fileMode, dirOwner, fileOwner }) => {
      const place = mkdtempSync(join(home, "left-"));
      const dir = join(place, ".drover");
      const file = join(dir, "context.json");
      mkdirSync(dir);
      writeFileSync(file, text);
      chmodSync(file, fileMode);
      chownSync(file, fileOwner, fileOwner);
      chmodSync(dir, dirMode);
      chownSync(dir, dirOwner, dirOwner);
      // Whoever owns it, or may write to it or to its directory, has a say; whoever may read it knows its
      // token.
      const hasSay = [dirOwner, fileOwner].includes(NOBODY) || ((dirMode | fileMode) & 0o022) !== 0;
      const isKnown = (fileMode & 0o077) !== 0;
      let believed = true;
      try {
        expect(readOwnFile(file)).toBe(text);
      } catch {
        believed = false;
      }
      expect(believed).toBe(!hasSay && !isKnown);
      rmSync(place, { recursive: true });
    }),
    { numRuns: FILES },
  );
});
if (!isRoot) console.warn("Some of local-user.test.ts is skipped: only root can play another user.");
