// How are peaks, and advice about sizes, put into words?
import type { RunStatus } from "../../client/types.ts";
import { formatSize } from "../../src/shared/size.ts";
import { briefDuration } from "./text.ts";

type Attempt = RunStatus["tasks"][number]["attempts"][number];
export type Peaks = NonNullable<Attempt["peaks"]>;

/** A size without digits that nobody reads. */
export function roughSize(bytes: number): string {
  return formatSize(bytes - (bytes % 1_024));
}

/** Peaks as cells: processors, processor time, memory, disk. A dash: not measured. */
export function peakCells({ cpus, cpuMs, memoryBytes, diskBytes, diskIsLeast }: Peaks = {}): string[] {
  return [
    cpus === undefined ? "-" : cpus.toFixed(2),
    cpuMs === undefined ? "-" : briefDuration(cpuMs),
    memoryBytes === undefined ? "-" : roughSize(memoryBytes),
    diskBytes === undefined ? "-" : `${diskIsLeast ? ">" : ""}${roughSize(diskBytes)}`,
  ];
}

/** The peaks of an attempt on one line; empty if nothing was measured. */
export function peaksText(peaks: Peaks | undefined): string {
  const [cpus, time, memory, disk] = peakCells(peaks);
  const parts = [
    cpus === "-" ? "" : `${cpus} CPUs`,
    time === "-" ? "" : `${time} of processor time`,
    memory === "-" ? "" : `${memory} of memory`,
    disk === "-" ? "" : `${disk} of disk`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : `used at most ${parts.join(", ")}`;
}

/**
 * One line that says which requests of an ended run were far off, and what to ask for instead
 * (tasks.md#size-advice); undefined if none was.
 */
export function adviceLine({ id, advice = [], tasks }: RunStatus): string | undefined {
  if (advice.length === 0) return undefined;
  const isLone = tasks.length === 1;
  const facts = advice.map(({ task, text }) => (isLone ? text : `task ${task} ${text}`));
  const asks = advice.map(({ task, resource, ask }) => {
    const value = resource === "vcpus" ? String(ask) : formatSize(ask);
    if (isLone && resource !== "disk") return `${resource === "vcpus" ? "--cpus" : "--memory"} ${value}`;
    return `\`${resource}\` ${value}${isLone ? "" : ` of task ${task}`}`;
  });
  const subject = isLone ? `Run ${id} ` : `In run ${id}, `;
  return `${subject}${facts.join(", and ")}. Next time: ${asks.join(", ")}`;
}
