import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import { findMemoryDir } from "../../posix/memory-dir.ts";
import { type Bench, kill, run } from "./support/bench.ts";
import { ID, leaseTest, leaseUntil, leftOfLease } from "./support/leases.ts";

// The agent is dead and nobody starts it again: who removes the files of its secrets?

const linkOf = (bench: Bench) => join(bench.stateDir, "secrets");

/**
 * A killed agent, whose task has a secret as a file. `breaks`: it cannot be called any more after that.
 * Resolves with the directory of such files.
 */
async function deadAgent(bench: Bench, breaks = false): Promise<string> {
  const agent = bench.start();
  bench.plane.secrets[ID] = { KEY: Buffer.from("correct-horse-battery-staple") };
  const script = 'trap "" TERM; wc -c <"$DROVER_SECRETS_DIR/KEY"; sleep 300 & wait';
  const secrets = { KEY: { secret: "deploy", as: "file" as const } };
  const order = run(ID, ["sh", "-c", script], { secrets, killTimeoutMs: 100 });
  bench.plane.order([order], { reportWithinMs: 500 });
  await bench.plane.until("it has its secret", () => bench.plane.stored(ID).toString().trim() === "28");
  // The agent itself is in memory; what calls it in its place may do so from its end on.
  if (breaks) writeFileSync(join(bench.dir, "drover-agent.mjs"), "process.exit(1);\n");
  await kill(agent);
  const { path, onDisk } = findMemoryDir(linkOf(bench)) ?? { path: "", onDisk: true };
  if (onDisk || readdirSync(path).length !== 1) throw new Error("the secret is in no file in memory");
  return path;
}

describe("the watchdog removes the files of secrets at the end of the lease (secrets.md#files)", () => {
  leaseTest("with the agent's own means", async ({ leased: bench, expect, onTestFinished }) => {
    const dir = await deadAgent(bench);
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    await leftOfLease(bench, leaseUntil(bench));
    await expect.poll(() => existsSync(dir)).toBe(false);
  });

  leaseTest(
    "with its bare hands, if Node cannot do it",
    async ({ leased: bench, expect, onTestFinished }) => {
      const dir = await deadAgent(bench, true);
      onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
      await leftOfLease(bench, leaseUntil(bench));
      await expect.poll(() => readdirSync(dir)).toEqual([]);
    },
  );
});
