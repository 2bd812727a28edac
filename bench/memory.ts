// How much memory do a process and its descendants use?
import { readdirSync, readFileSync } from "node:fs";

/** How many bytes of memory a process and its descendants use. */
export function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0";
  let bytes = Number(kib) * 1_024;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const children = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ");
    for (const child of children.filter((one) => one !== "")) bytes += residentBytes(Number(child));
  }
  return bytes;
}
