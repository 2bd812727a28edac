// How many runs a second can the control plane alone handle, in one pool and in several?
import { runBatch } from "../batch.ts";
import type { Drover } from "../drover.ts";
import { joinAll, LightHost } from "../light-host.ts";
import { between, partTimes } from "../processes.ts";
import { type Row, rowOf } from "../table.ts";

const POOLS = [1, 4, 8];
/** Of all pools together: each host has four runs at a time. */
const HOSTS = 16;

/**
 * Measures batches of `runs` runs, divided among 1, 4 and 8 pools. Their hosts have no machines: they report
 * each run as ended at once, so agents and processes cost nothing.
 */
export async function measurePools(drover: Drover, rounds: number, runs: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const count of POOLS) {
    const poolOf = (index: number) => `light-${count}-${index % count}`;
    const hosts = Array.from({ length: HOSTS }, () => new LightHost());
    await joinAll(drover, hosts, poolOf);
    const rates: number[] = [];
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = partTimes(drover);
      const batches = Array.from({ length: count }, (_, pool) =>
        runBatch(drover, Math.floor(runs / count), { pool: poolOf(pool) }),
      );
      const seconds = Math.max(...(await Promise.all(batches)));
      rates.push(runs / seconds);
      times.push(between(before, partTimes(drover)).controlPlane / runs);
    }
    for (const host of hosts) host.cut();
    const what = `${runs} runs without machines, ${count === 1 ? "1 pool" : `${count} pools`}`;
    rows.push(rowOf(what, "runs/s", rates), rowOf(`${what}: processor, control plane`, "ms a run", times));
  }
  return rows;
}
