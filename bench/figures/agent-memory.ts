// How much memory does an idle agent use?
import { readFileSync } from "node:fs";
import type { Drover } from "../drover.ts";
import { agentsOf } from "../processes.ts";
import { type Row, rowOf } from "../table.ts";

/**
 * The memory of a Drover's agents: resident, its share of what several processes have mapped (Node's own code
 * above all), and what is private to it, which ends with it.
 */
export function measureAgentMemory(drover: Drover): Row[] {
  const files = agentsOf(drover).map((pid) => readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
  const of = (field: RegExp) =>
    files.map((text) => [...text.matchAll(field)].reduce((sum, [, kib]) => sum + Number(kib), 0) / 1_024);
  return [
    rowOf("memory of an idle agent, resident", "MiB", of(/^Rss:\s+(\d+)/gm), "≤ 80 MiB"),
    rowOf("memory of an idle agent, its share", "MiB", of(/^Pss:\s+(\d+)/gm)),
    rowOf("memory of an idle agent, private", "MiB", of(/^Private_(?:Clean|Dirty):\s+(\d+)/gm)),
  ];
}
