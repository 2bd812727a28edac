// `npm run bench`: what a user waits for, and what one machine can do, beside its floors (budgets.md#bench).
// Asserts nothing. -- --peers: beside other queues, too; --quick: a look; --json: as data; --disk DIR: state
// there, too; --only FIGURES, by the names below; and the amounts of `FULL`, such as --runs 300.
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bullMq } from "./contenders/bullmq.ts";
import type { Contender } from "./contenders/contender.ts";
import { bareSpawn, bareWorker } from "./contenders/floors.ts";
import { parallel } from "./contenders/parallel.ts";
import { slurm } from "./contenders/slurm.ts";
import { IN_MEMORY, startDrover, warmUp } from "./drover.ts";
import { measureAgentMemory } from "./figures/agent-memory.ts";
import { asContender, measureBatches } from "./figures/batches.ts";
import { measureContainers } from "./figures/containers.ts";
import { measureHosts } from "./figures/hosts.ts";
import { measureKeystrokes } from "./figures/keystrokes.ts";
import { measureLatency } from "./figures/latency.ts";
import { measureLogs } from "./figures/logs.ts";
import { measurePlanning } from "./figures/planning.ts";
import { measurePools } from "./figures/pools.ts";
import { measureSnapshots, missingForSnapshots } from "./figures/snapshots.ts";
import { measureStartup } from "./figures/startup.ts";
import { measureThroughput } from "./figures/throughput.ts";
import { type Row, tableOf } from "./table.ts";

const FULL = {
  runs: 300,
  keys: 300,
  users: 16,
  trivial: 500,
  hosts: 1_000,
  light: 1_000,
  mb: 256,
  rounds: 3,
  containers: 30,
};
const QUICK = {
  runs: 50,
  keys: 30,
  users: 16,
  trivial: 100,
  hosts: 50,
  light: 100,
  mb: 32,
  rounds: 2,
  containers: 10,
};
const PEERS = [bullMq(false), bullMq(true), slurm, parallel];
const flag = { type: "boolean", default: false } as const;
const text = { type: "string" } as const;
const { values } = parseArgs({
  options: {
    ...{ peers: flag, quick: flag, json: flag, disk: text, sizes: text, only: text },
    ...{
      runs: text,
      keys: text,
      users: text,
      trivial: text,
      hosts: text,
      light: text,
      mb: text,
      rounds: text,
      containers: text,
    },
  },
});
const defaults = values.quick ? QUICK : FULL;
const amount = (name: keyof typeof FULL) => Number(values[name] ?? defaults[name]);
const sizes = (values.sizes ?? (values.quick ? "100,500" : "100,500,1000,5000")).split(",").map(Number);
const wants = (name: string) => values.only === undefined || values.only.split(",").includes(name);

const load = loadavg().map((one) => one.toFixed(2));
const rows: Row[] = [];
const hints: string[] = [];
if (wants("planning")) rows.push(...measurePlanning());
if (wants("startup")) rows.push(...(await measureStartup(amount("rounds"))));
if (wants("snapshots")) {
  const size = values.quick ? { files: 1_000, megabytes: 20 } : { files: 10_000, megabytes: 200 };
  rows.push(...measureSnapshots(values.disk ?? IN_MEMORY, amount("rounds"), size));
  hints.push(...[missingForSnapshots() ?? []].flat());
}
if (wants("containers")) {
  const measured = await measureContainers(amount("containers"));
  if (typeof measured === "string") hints.push(measured);
  else rows.push(...measured);
}
const scratch = mkdtempSync(join(IN_MEMORY, "drover-bench-peers-"));
const started: Contender[] = [];
try {
  const drover = await startDrover();
  started.push(asContender(drover, "Drover"));
  await warmUp(drover);
  if (wants("memory")) rows.push(...measureAgentMemory(drover));
  if (wants("latency")) rows.push(...(await measureLatency(drover, amount("runs"))));
  if (wants("keys")) rows.push(...(await measureKeystrokes(drover, amount("keys"))));
  if (wants("users")) rows.push(...(await measureThroughput(drover, amount("users"), amount("trivial"))));
  if (wants("logs")) {
    rows.push(...(await measureLogs(drover, scratch, amount("rounds"), amount("mb"))));
  }
  if (wants("batches")) {
    await startContenders();
    rows.push(...(await measureBatches(started, sizes, amount("rounds"))));
  }
  if (wants("pools")) rows.push(...(await measurePools(drover, amount("rounds"), amount("light"))));
  if (wants("hosts")) rows.push(...(await measureHosts(drover, amount("hosts"))));
} finally {
  for (const contender of started) await contender.stop();
  rmSync(scratch, { recursive: true, force: true });
}
const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
const machine = `${availableParallelism()} × ${cpus()[0]?.model ?? "unknown processor"}, ${memory}`;
const around = { machine, node: process.versions.node, load, state: IN_MEMORY, missing: hints };
if (values.json) console.log(JSON.stringify({ ...around, rows }, undefined, 2));
else {
  console.log(tableOf(rows));
  console.log(`\n${machine}; Node ${around.node}; load before ${load.join(" ")}; state in ${IN_MEMORY}`);
  for (const hint of hints) console.log(hint);
}

/** Starts the floors, Drover on a disk, and the peers that the machine has. Nothing is installed. */
async function startContenders(): Promise<void> {
  started.push(bareSpawn, ...(await bareWorker(scratch)));
  if (values.disk !== undefined) {
    const onDisk = await startDrover({ below: values.disk });
    started.push(asContender(onDisk, "Drover, state on a disk"));
    await warmUp(onDisk);
  }
  for (const peer of values.peers ? PEERS : []) {
    const missing = peer.missing();
    if (missing === undefined) started.push(await peer.start(scratch));
    else hints.push(`${peer.name} was not measured: ${missing}`);
  }
}
