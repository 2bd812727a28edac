import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";

// Names that look public, and that this Drover alone resolves to addresses of its own machine and network.

/** A loopback address of this test alone: Linux has all of 127.0.0.0/8. */
const LOOPBACK = `127.77.${process.pid % 250}.${1 + (Math.floor(process.pid / 250) % 250)}`;
const NAMES = {
  "loopback.example.com": LOOPBACK,
  "private.example.com": "10.255.255.1",
  "shared.example.com": "192.168.255.1",
  "link-local.example.com": "169.254.255.1",
  "six.example.com": "::1",
};

/** Becomes a process that sees another file of names: nobody else does. */
const NAMED = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"'];
const home = makeHome("webhook-addresses");
const hosts = join(home, "hosts");
writeFileSync(
  hosts,
  ["127.0.0.1 localhost", ...Object.entries(NAMES).map(([name, address]) => `${address} ${name}`)]
    .map((line) => `${line}\n`)
    .join(""),
);
const below = [...NAMED, hosts];
const [unshare = "", ...rename] = below;
const canName = spawnSync(unshare, [...rename, "true"]).status === 0;

/** How often anybody has connected to the loopback address. */
let connections = 0;
const listener = createServer((socket) => {
  connections += 1;
  socket.destroy();
});
beforeAll(() => new Promise<void>((resolve) => listener.listen(8443, LOOPBACK, resolve)));
afterAll(async () => {
  await new Promise((resolve) => listener.close(resolve));
  rmSync(home, { recursive: true, force: true });
});

/** Starts a Drover with these flags for the tests of a group. */
function aDrover(...flags: string[]): () => RunningDrover {
  let up: RunningDrover | undefined;
  beforeAll(async () => {
    up = await startDrover(home, {}, canName ? below : [], ["--fresh", ...flags]);
  });
  afterAll(() => endDrover(home, up));
  return () => {
    if (up === undefined) throw new Error("Drover is not up");
    return up;
  };
}

/** What came of a test event that is sent to this name, at a port that is allowed for public names. */
async function problemAt(up: RunningDrover, name: string): Promise<string> {
  const hook = name.replaceAll(".", "-");
  await up.json(201, "POST", "/v1/webhooks", { name: hook, url: `https://${name}:8443/hook` });
  const { last } = await up.json(200, "POST", `/v1/webhooks/${hook}/test`);
  return last.problem;
}

describe("a Drover without --allow-local-webhooks (webhooks.md#addresses)", () => {
  const up = aDrover();

  test.each([
    "http://localhost:8080/",
    "https://localhost./",
    `https://${LOOPBACK}:8443/`,
    "https://10.1.2.3/",
    "https://[::1]/",
    "https://nas.local/",
  ])("refuses %s", async (url) => {
    const { errors } = await up().json(400, "POST", "/v1/webhooks", { name: "local", url });
    expect(errors).toMatchObject([{ pointer: "/url" }]);
  });

  test.skipIf(!canName).each(Object.keys(NAMES))("never connects to %s", async (name) => {
    const before = connections;
    expect(await problemAt(up(), name)).toContain("or its address is not public");
    expect(connections).toBe(before);
  });
});

describe("a Drover with --allow-local-webhooks (webhooks.md#addresses)", () => {
  const up = aDrover("--allow-local-webhooks");

  test.skipIf(!canName)("connects to such a name", async () => {
    const before = connections;
    expect(await problemAt(up(), "loopback.example.com")).toContain("could not be reached");
    expect(connections).toBeGreaterThan(before);
  });
});
