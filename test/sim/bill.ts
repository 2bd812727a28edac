import type { Cloud } from "./cloud.ts";
import type { Force } from "./force.ts";
import type { Host, Ill } from "./host.ts";

/** One machine of the cloud: for how long it was paid for, and for how much of that anything ran on it. */
export interface MachineBill {
  worker: string;
  ill: Ill | null;
  paidMs: number;
  busyMs: number;
  /** Processes that were started on it. */
  starts: number;
  /** For how much of that a forced end had left it behind: nobody knew of it. */
  leftMs: number;
}

/** What the machines of a story have cost, and what that was good for. */
export function billOf(
  cloud: Cloud,
  { hosts, force }: { hosts: ReadonlyMap<string, Host>; force: Force },
): MachineBill[] {
  return [...cloud.lives()].map(({ worker, bornAt, endedAt, second }) => {
    const host = second ? undefined : hosts.get(worker);
    const processes = [...(host?.processes.values() ?? [])];
    const spans = processes.map((one) => [one.startedAt, Math.min(one.endedAt, endedAt)] as const);
    const [paidMs, busyMs] = [endedAt - bornAt, lengthOf(spans)];
    const leftMs = second ? 0 : force.leftMs(worker, endedAt);
    return { worker, ill: host?.ill ?? null, paidMs, busyMs, starts: processes.length, leftMs };
  });
}

/** How much time is covered by any of the spans. */
function lengthOf(spans: (readonly [from: number, to: number])[]): number {
  let [covered, end] = [0, Number.NEGATIVE_INFINITY];
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    covered += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return covered;
}
