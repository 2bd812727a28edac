// `npm run bench`: what a user waits for, and what one machine can do, beside its floors (budgets.md#bench).
// Asserts nothing. Its options: `npm run bench -- --help`.
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
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
import { benchOptions, HELP, optionsOrExit } from "./options.ts";
import { type Row, tableOf } from "./table.ts";

const PEERS = [bullMq(false), bullMq(true), slurm, parallel];
const options = optionsOrExit("bench", HELP, benchOptions);
const { amounts, wants } = options;

const load = loadavg().map((one) => one.toFixed(2));
const rows: Row[] = [];
const hints: string[] = [];
if (wants("planning")) rows.push(...measurePlanning());
if (wants("startup")) rows.push(...(await measureStartup(amounts.rounds)));
if (wants("snapshots")) {
  const size = options.quick ? { files: 1_000, megabytes: 20 } : { files: 10_000, megabytes: 200 };
  rows.push(...measureSnapshots(options.disk ?? IN_MEMORY, amounts.rounds, size));
  hints.push(...[missingForSnapshots() ?? []].flat());
}
if (wants("containers")) {
  const measured = await measureContainers(amounts.containers);
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
  if (wants("latency")) rows.push(...(await measureLatency(drover, amounts.runs)));
  if (wants("keys")) rows.push(...(await measureKeystrokes(drover, amounts.keys)));
  if (wants("users")) rows.push(...(await measureThroughput(drover, amounts.users, amounts.trivial)));
  if (wants("logs")) {
    rows.push(...(await measureLogs(drover, scratch, amounts.rounds, amounts.mb)));
  }
  if (wants("batches")) {
    await startContenders();
    rows.push(...(await measureBatches(started, options.sizes, amounts.rounds)));
  }
  if (wants("pools")) rows.push(...(await measurePools(drover, amounts.rounds, amounts.light)));
  if (wants("hosts")) rows.push(...(await measureHosts(drover, amounts.hosts)));
} finally {
  for (const contender of started) await contender.stop();
  rmSync(scratch, { recursive: true, force: true });
}
const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
const machine = `${availableParallelism()} × ${cpus()[0]?.model ?? "unknown processor"}, ${memory}`;
const around = { machine, node: process.versions.node, load, state: IN_MEMORY, missing: hints };
if (options.json) console.log(JSON.stringify({ ...around, rows }, undefined, 2));
else {
  console.log(tableOf(rows));
  console.log(`\n${machine}; Node ${around.node}; load before ${load.join(" ")}; state in ${IN_MEMORY}`);
  for (const hint of hints) console.log(hint);
}

/** Starts the floors, Drover on a disk, and the peers that the machine has. Nothing is installed. */
async function startContenders(): Promise<void> {
  started.push(bareSpawn, ...(await bareWorker(scratch)));
  if (options.disk !== undefined) {
    const onDisk = await startDrover({ below: options.disk });
    started.push(asContender(onDisk, "Drover, state on a disk"));
    await warmUp(onDisk);
  }
  for (const peer of options.peers ? PEERS : []) {
    const missing = peer.missing();
    if (missing === undefined) started.push(await peer.start(scratch));
    else hints.push(`${peer.name} was not measured: ${missing}`);
  }
}
