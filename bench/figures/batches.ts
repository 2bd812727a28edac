// How many trivial runs a second does a batch reach, beside its floors and its peers in the same sitting?
import { runBatch } from "../batch.ts";
import type { Contender } from "../contenders/contender.ts";
import type { Drover } from "../drover.ts";
import { between, type PartTimes, partTimes } from "../processes.ts";
import { type Row, rowOf } from "../table.ts";

const PARTS: Record<keyof PartTimes, string> = {
  controlPlane: "control plane",
  up: "drover up",
  agents: "agents",
  children: "children of agents",
};

/** A Drover as a contender, and what its parts have taken for each run, by the size of the batch. */
export interface MeasuredDrover extends Contender {
  rows(size: number): Row[];
}

/** Measures a Drover's batches together with the processor time of its parts. */
export function asContender(drover: Drover, name: string): MeasuredDrover {
  const taken = new Map<number, PartTimes[]>();
  return {
    name,
    async run(count) {
      const before = partTimes(drover);
      const seconds = await runBatch(drover, count);
      taken.set(count, [...(taken.get(count) ?? []), between(before, partTimes(drover))]);
      return seconds;
    },
    stop: () => drover.stop(),
    rows: (size) =>
      Object.entries(PARTS).map(([part, what]) => {
        // The keys of a record are the names of the parts.
        const values = (taken.get(size) ?? []).map((one) => one[part as keyof PartTimes] / size);
        return rowOf(`batch of ${size}, ${name}: processor, ${what}`, "ms a run", values);
      }),
  };
}

/**
 * Has each contender run each batch, in turns, so that what else the machine does falls on all of them.
 * A number is that of one batch, `n` the number of rounds.
 */
export async function measureBatches(
  contenders: readonly (Contender | MeasuredDrover)[],
  sizes: readonly number[],
  rounds: number,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const size of sizes) {
    const rates = new Map<Contender, number[]>();
    for (let round = 0; round < rounds; round += 1) {
      for (const contender of contenders) {
        const rate = size / (await contender.run(size));
        // A batch may take minutes. What is printed here is no part of the result.
        console.error(`batch of ${size}, round ${round + 1}, ${contender.name}: ${rate.toFixed(1)} runs/s`);
        rates.set(contender, [...(rates.get(contender) ?? []), rate]);
      }
    }
    for (const [contender, values] of rates) {
      rows.push(rowOf(`batch of ${size}, ${contender.name}`, "runs/s", values));
      if (isMeasured(contender)) rows.push(...contender.rows(size));
    }
  }
  return rows;
}

function isMeasured(contender: Contender | MeasuredDrover): contender is MeasuredDrover {
  return "rows" in contender;
}
