import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endDrover, makeHome, type RunningDrover, startDrover } from "../edge/support/drover.ts";
import { leftOf } from "../local/support/up-process.ts";
import { portsOf, sendRaw } from "./support/listening.ts";
import { isRoot, NOBODY } from "./support/swapper.ts";
import { callMethods } from "./support/workerd-caller.ts";

// What another user of the machine gets from the ports of a `drover up`, without its token.

if (!isRoot) console.warn("Some of up-port.test.ts is skipped: only root can play another user.");

const SECRET = "what a run has left behind";
const DIGEST = createHash("sha256").update(SECRET).digest("hex");
const OBJECT = `/cdn-cgi/local/r2/public/drover-logs/snapshots/${DIGEST}`;

let home: string;
let drover: RunningDrover;
beforeAll(async () => {
  home = makeHome("up-port");
  drover = await startDrover(home);
  const stored = await fetch(`${drover.url}/v1/snapshots/sha256:${DIGEST}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${drover.token}`, "content-type": "application/octet-stream" },
    body: SECRET,
  });
  expect(stored.status).toBe(201);
});
afterAll(async () => {
  await endDrover(home, drover);
  rmSync(home, { recursive: true, force: true });
});

const publicPort = () => Number(new URL(drover.url).port);

describe("X4: the routes of the local runtime are on no port", () => {
  const REQUESTS: [what: string, path: string, ...headers: string[]][] = [
    ["the public bucket", OBJECT],
    ["from a page of localhost", OBJECT, "Origin: http://localhost:3000"],
    ["with an address for a path", `http://localhost${OBJECT}`],
    ["with two slashes", `/${OBJECT}`],
    ["with dots", `/v1/..${OBJECT}`],
    ["percent-encoded", OBJECT.replace("cdn", "%63dn")],
    ["by a header of the runtime", "/healthz", `MF-Original-URL: http://localhost${OBJECT}`],
    ["by the protocol of S3", `/cdn-cgi/local/r2/s3/drover-logs/snapshots/${DIGEST}`],
    ["the explorer of the runtime", "/cdn-cgi/explorer/api/r2/buckets"],
    ["a cron", "/cdn-cgi/local/scheduled?cron=x"],
    ["the proxy of the platform", "/cdn-cgi/platform-proxy", "MF-Op: GET"],
  ];
  test.each(REQUESTS)("%s", async (_, path, ...headers) => {
    const ports = portsOf([drover.pid, ...leftOf(drover.stateDir)]);
    expect(ports).toContain(publicPort());
    for (const port of ports) {
      const answer = await sendRaw(port, [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, ...headers]);
      expect(answer).not.toContain(SECRET);
      expect(answer).not.toMatch(/drover-logs(?!\/)|access-control-allow-origin/i);
      // Our 404, a refusal of the runtime's private server, or the health that was asked for.
      expect(answer).toMatch(/^HTTP\/1\.1 (40[0-9]|421|500) |"status":"ok"/);
    }
  });
});

test("X4: the methods of the Worker cannot be called by the runtime's own protocol", async () => {
  const outcomes = await callMethods(home, publicPort(), ["scheduled", "env", "queue"]);
  for (const outcome of outcomes) expect(outcome).toContain("does not implement the method");
});

describe("X24: the port of `drover up` answers to the names of this machine alone", () => {
  const ask = (...hosts: string[]) =>
    sendRaw(publicPort(), ["GET /healthz HTTP/1.1", ...hosts.map((host) => `Host: ${host}`)]);

  test.each(["127.0.0.1", "localhost", "LocalHost", "[::1]"])("%s is one", async (name) => {
    expect(await ask(`${name}:${publicPort()}`)).toContain('"status":"ok"');
  });

  const STRANGE = ["rebound.example.com", "127.0.0.1.example.com", "localhost.", "0.0.0.0", "user@127.0.0.1"];
  test.each(STRANGE)("%s is none", async (name) => {
    const answer = await ask(`${name}:${publicPort()}`);
    expect(answer).toContain("421 ");
    expect(answer).toContain(`Host must be 127.0.0.1:${publicPort()} or localhost:${publicPort()}`);
    expect(answer).not.toContain('"status"');
  });

  test("nor is another port, or no name at all", async () => {
    for (const hosts of [["127.0.0.1"], ["127.0.0.1:1"], [""]]) {
      expect(await ask(...hosts)).toMatch(/^HTTP\/1\.1 4/);
    }
    const other = ["GET http://rebound.example.com/healthz HTTP/1.1", "Host: rebound.example.com"];
    expect(await sendRaw(publicPort(), other)).toContain("421 ");
  });
});

describe("X4: the runtime's own entry", () => {
  const entry = () => join(drover.stateDir, "tmp/entry");

  test("is a socket below a directory that is closed to others", () => {
    expect(statSync(entry()).isSocket()).toBe(true);
    expect(statSync(drover.stateDir).mode & 0o077).toBe(0);
  });

  test.skipIf(!isRoot)("cannot be opened by another user", () => {
    const knock = `
      process.setgroups([]); process.setgid(${NOBODY.gid}); process.setuid(${NOBODY.uid});
      require("node:net").connect(${JSON.stringify(entry())})
        .once("connect", () => console.log("open")).once("error", (error) => console.log(error.code));`;
    const { stdout } = spawnSync(process.execPath, ["-e", knock], { encoding: "utf8" });
    expect(stdout.trim()).toBe("EACCES");
  });
});
