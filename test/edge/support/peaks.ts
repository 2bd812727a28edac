import { readdirSync, readFileSync } from "node:fs";

/** The parts of Drover that log bytes go through. */
export type Part = "agent" | "worker" | "command";

/** The most memory that each part had resident, in bytes (`VmHWM`), as far as it was seen. */
export type Peaks = Record<Part, number>;

const LOOK_MS = 50;

/**
 * Watches the processes of a `drover up`, and of one command that is attached to it, until it is stopped. The
 * kernel keeps each peak, so nothing between two looks is missed except the last moment of a process.
 */
export function watchPeaks(stateDir: string, command: number): { stop(): Peaks } {
  const peaks: Peaks = { agent: 0, worker: 0, command: 0 };
  const look = () => {
    for (const [part, pid] of [...partsOf(stateDir), ["command", command] as const]) {
      peaks[part] = Math.max(peaks[part], peakOf(pid));
    }
  };
  const timer = setInterval(look, LOOK_MS);
  return {
    stop() {
      clearInterval(timer);
      look();
      return peaks;
    },
  };
}

/** The agents that were started from this state directory. */
export function agentsOf(stateDir: string): number[] {
  return partsOf(stateDir).flatMap(([part, pid]) => (part === "agent" ? [pid] : []));
}

function partsOf(stateDir: string): [Part, number][] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.flatMap((pid): [Part, number][] => {
    const [program = "", ...args] = fileOf(pid, "cmdline").split("\0");
    if (program.endsWith("/workerd") && fileOf(pid, "environ").includes(stateDir)) return [["worker", pid]];
    const isAgent = args[0]?.endsWith("/drover-agent.mjs") && args[0].startsWith(stateDir);
    return isAgent ? [["agent", pid]] : [];
  });
}

function peakOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(fileOf(pid, "status"))?.[1] ?? 0) * 1_024;
}

/** Empty if the process has gone. */
function fileOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
