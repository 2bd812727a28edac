// How does `drover up --cloud ec2-fake` get a pool on the fake of a cloud?
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "../client/client.ts";
import { ApiError } from "../client/errors.ts";
import type { PoolConfig, PoolView } from "../client/types.ts";
import { credentialsOf } from "../src/shared/cloud/account.ts";
import { errorText } from "../src/shared/words.ts";
import type { FakeCloudName } from "./fake-clouds.ts";
import { pathIn } from "./state/names.ts";
import type { Up } from "./up.ts";
import { UpError } from "./up-error.ts";

interface Announced {
  pool: PoolConfig;
  credentials: string;
}

/**
 * Adds the fake of a cloud to a Drover that is up, and a pool for it of the same name, unless there is one of
 * that name (clouds.md#fakes). The fake and its machines end after the control plane. If the fake does not
 * start, or if this is no checkout of Drover, ends everything and throws an `UpError`.
 */
export async function withFakeCloud(
  running: Up,
  name: FakeCloudName,
  onProblem: (text: string) => void,
): Promise<Up> {
  try {
    const { pool, credentials, stop } = await start(name, running.stateDir, onProblem);
    const stopAll = () => running.stop().finally(stop);
    try {
      await settle(createClient(running), name, pool, credentials);
    } catch (error) {
      await stop();
      throw error;
    }
    return { ...running, stop: stopAll };
  } catch (error) {
    await running.stop();
    throw error;
  }
}

/**
 * Starts the fake as a process of its own. It ends with this process, however that ends, since it reads its
 * stdin to the end. It listens where the last one of this state directory did, so that its pool can go on.
 */
async function start(
  name: FakeCloudName,
  stateDir: string,
  onProblem: (text: string) => void,
): Promise<Announced & { stop(): Promise<void> }> {
  const inCheckout = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
  // The Node of this process may be too old to run TypeScript.
  const [script, node] = [inCheckout("test/clouds/main.ts"), inCheckout("node_modules/node/bin/node")];
  if (!existsSync(script)) {
    throw new UpError(
      `The fakes of clouds are in a checkout of Drover, and not in its package: ${script} is missing. ` +
        "For a pool on a real cloud, start without --cloud, and use `drover pools create`.",
    );
  }
  const dir = join(pathIn(stateDir, "fake-clouds"), name);
  const args = ["--no-warnings", script, name.replace(/-fake$/, ""), "--attached", "--dir", dir];
  // In a group of its own: Ctrl-C on the terminal ends the control plane first.
  const child = spawn(existsSync(node) ? node : process.execPath, args, {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const ended = once(child, "exit");
  let isStopping = false;
  const found = await announced(name, child, ended);
  void ended.then(() => {
    if (!isStopping) onProblem(`${name} has ended by itself, with its machines. Start \`drover up\` again.`);
  });
  const stop = async () => {
    isStopping = true;
    child.stdin?.end();
    await ended;
  };
  return { ...found, stop };
}

/** The first line that the fake prints. */
async function announced(name: string, child: ChildProcess, ended: Promise<unknown>): Promise<Announced> {
  if (child.stdout === null) throw new Error("the fake of a cloud has no stdout");
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, "line"), ended.then(() => undefined)]);
  lines.close();
  child.stdout.resume();
  if (first === undefined) throw new UpError(`${name} did not start: see above.`);
  return JSON.parse(String(first[0]));
}

async function settle(
  { pools, secrets }: Client,
  name: string,
  pool: PoolConfig,
  value: string,
): Promise<void> {
  try {
    // An error that says nothing of the pool must not have it replaced.
    const there = await pools.get(name).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    });
    // A fake may have other credentials each time.
    if (there === undefined || namesSecret(there.config, name))
      await secrets.set(name, { value, use: "provider" });
    if (there === undefined) await pools.put(name, pool);
  } catch (error) {
    throw new UpError(`The control plane did not take the pool "${name}": ${errorText(error)}`);
  }
}

/** Whether a pool gets this secret. The secret of any other pool is a user's own, whatever it is called. */
function namesSecret({ provider }: PoolView["config"], name: string): boolean {
  const credentials = credentialsOf<unknown, unknown>(provider)?.value;
  return typeof credentials === "object" && Object(credentials).secret === name;
}
