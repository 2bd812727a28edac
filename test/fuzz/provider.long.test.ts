import { afterAll, beforeAll, expect, test } from "vitest";
import { SEED } from "../chance/seed.ts";
import type { Json } from "../edge/support/edge.ts";
import { type Server, startServer } from "../edge/support/server.ts";
import { HostileProvider, TRICKS } from "./support/hostile-provider.ts";

// Providers that answer with anything: what they say is data. Meanwhile other pools work, every question to
// the control plane has an answer that the document allows, and nothing that was confided to a provider is
// shown. Once they answer as agreed, their pools have machines.

const POOLS = Array.from({ length: 12 }, (_, at) => `hostile-${at}`);
/** So often each trick is played at least. */
const TIMES_EACH = 3;
/** Beside them: runs of the pool with an honest cloud. */
const HONEST_RUNS = 5;

let server: Server;
let provider: HostileProvider;
beforeAll(async () => {
  [server, provider] = await Promise.all([startServer(), HostileProvider.open(SEED)]);
});
afterAll(async () => {
  await server?.stop();
  provider?.close();
});

const configOf = (pool: string, secret = `confided-to-${pool}`) => ({
  provider: { kind: "http", url: provider.url, secret },
  instanceTypes: { small: { vcpus: 1, memory: "1GiB" }, large: { vcpus: 2, memory: "2GiB" } },
  maxInstances: 3,
  sync: { interval: "1s" },
  timeouts: { boot: "10m" },
});

/** Everything that can be read of the pools and their machines. What a read throws is its fault. */
async function readAll(): Promise<string> {
  const read = async (path: string) => (await server.call("GET", path)).text();
  const { items }: Json = await server.json(200, "GET", "/v1/workers?limit=100");
  const workers = items.map(({ id }: Json) => `/v1/workers/${id}`);
  const paths = [
    ...["/healthz", "/metrics", "/v1/pools", "/v1/events?limit=100"],
    ...POOLS.flatMap((pool) => [
      `/v1/pools/${pool}`,
      `/v1/pools/${pool}/queue`,
      `/v1/runs/waits-${pool}/why`,
    ]),
    ...workers.slice(0, 10).flatMap((path: string) => [path, `${path}/why`]),
  ];
  const texts: string[] = [];
  for (const path of paths) texts.push(await read(path));
  return texts.join("\n");
}

function confidedIn(text: string): string[] {
  return [...provider.confided].filter((secret) => secret !== "" && text.includes(secret));
}

async function honestRun(at: number): Promise<string> {
  const argv = ["sh", "-c", "exit 0"];
  await server.json(201, "POST", "/v1/runs", { id: `honest-${at}`, tasks: [{ name: "main", argv }] });
  for (;;) {
    const { state, exitCode }: Json = await server.json(200, "GET", `/v1/runs/honest-${at}?wait=10s`);
    if (state !== "pending" && state !== "running") return `${state} ${exitCode}`;
  }
}

test("whatever a provider answers is data, and harms its own pool alone", { timeout: 600_000 }, async () => {
  for (const pool of POOLS) {
    await server.json(201, "PUT", `/v1/pools/${pool}`, configOf(pool));
    await server.json(201, "POST", "/v1/runs", { id: `waits-${pool}`, pool, argv: ["true"] });
  }
  const ended: string[] = [];
  const leaks = new Set<string>();
  const isPlayed = () =>
    Object.keys(TRICKS).every((trick) => (provider.played.get(trick) ?? 0) >= TIMES_EACH);
  for (let at = 0; at < HONEST_RUNS || !isPlayed(); at += 1) {
    if (at < HONEST_RUNS) ended.push(await honestRun(at));
    for (const leak of confidedIn(await readAll())) leaks.add(leak);
  }
  expect(ended).toEqual(Array(HONEST_RUNS).fill("complete 0"));
  expect([...leaks]).toEqual([]);

  // A pause that a provider has asked for, of an hour perhaps, ends once the pool is given another secret.
  provider.relent();
  for (const pool of POOLS) {
    await server.json(200, "PUT", `/v1/pools/${pool}`, configOf(pool, `renewed-for-${pool}`));
  }
  for (const pool of POOLS) {
    await expect
      .poll(
        async () => {
          const { items }: Json = await server.json(200, "GET", `/v1/workers?pool=${pool}&limit=100`);
          return items.map(({ machine }: Json) => machine);
        },
        { timeout: 180_000, interval: 200, message: `${pool} gets a machine once its provider is honest` },
      )
      .toContain("made");
  }
});
