// BullMQ on Redis, whose worker spawns `true` for each job.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { freePort } from "../profile/inspector.ts";
import { AT_ONCE, type Contender, type Peer } from "./contender.ts";
import { endServer, programAt, startServer, untilSucceeds } from "./programs.ts";

/** BullMQ, and the client that it needs. */
const PACKAGES = ["bullmq", "ioredis"];
const FOUND_BY = "NODE_PATH=~/peers/node_modules npm run bench -- --peers";

/** What is used of the package, which Drover does not depend on. */
interface BullMq {
  Queue: new (
    name: string,
    options: object,
  ) => { addBulk(jobs: { name: string; data: object }[]): Promise<unknown>; close(): Promise<void> };
  Worker: new (
    name: string,
    act: () => Promise<void>,
    options: object,
  ) => { on(event: "completed" | "failed", heard: () => void): void; close(): Promise<void> };
}

/** BullMQ with the settings that Redis has by itself, or with each change synchronized to the disk. */
export function bullMq(syncsAlways: boolean): Peer {
  const name = `BullMQ, Redis ${syncsAlways ? "with appendfsync always" : "by default"}`;
  return {
    name,
    missing() {
      if (programAt("redis-server") === undefined) return "apt-get install redis-server";
      const has = PACKAGES.every((one) => packageAt(one) !== undefined);
      return has ? undefined : `npm install --prefix ~/peers ${PACKAGES.join(" ")}, then ${FOUND_BY}`;
    },
    start: (dir) => start(name, dir, syncsAlways),
  };
}

/** The folder of a package below one of those that NODE_PATH names. */
function packageAt(name: string): string | undefined {
  const folders = (process.env.NODE_PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).find((folder) => existsSync(folder));
}

async function start(name: string, dir: string, syncsAlways: boolean): Promise<Contender> {
  const [port, folder] = [await freePort(), join(dir, `redis-${syncsAlways}`)];
  mkdirSync(folder, { recursive: true });
  const syncs = syncsAlways ? ["--appendonly", "yes", "--appendfsync", "always"] : [];
  const listens = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder];
  const redis = startServer("redis-server", [...listens, ...syncs]);
  await untilSucceeds("redis-cli", ["-p", String(port), "ping"]);
  // The package has this form; it is no dependency, so its types are not here.
  const { Queue, Worker } = createRequire(import.meta.url)(packageAt("bullmq") ?? "") as BullMq;
  const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
  const queue = new Queue("bench", { connection });
  let ended = 0;
  let heard = () => {};
  const worker = new Worker("bench", spawnTrue, { connection, concurrency: AT_ONCE });
  for (const event of ["completed", "failed"] as const) {
    worker.on(event, () => {
      ended += 1;
      heard();
    });
  }
  return {
    name,
    async run(count) {
      const beganAt = performance.now();
      const [all, until] = [Promise.withResolvers<void>(), ended + count];
      heard = () => {
        if (ended === until) all.resolve();
      };
      await queue.addBulk(Array.from({ length: count }, () => ({ name: "true", data: {} })));
      await all.promise;
      return (performance.now() - beganAt) / 1_000;
    },
    async stop() {
      await worker.close();
      await queue.close();
      await endServer(redis);
    },
  };
}

async function spawnTrue(): Promise<void> {
  const [code] = await once(spawn("true", { stdio: "ignore" }), "exit");
  if (code !== 0) throw new Error(`true ended with ${code}`);
}
