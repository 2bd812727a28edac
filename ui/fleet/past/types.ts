// How much of each type of machine was there: counts, hours and money (ui.md#fleet)?
import { costWithin, lifeWithin, type Machine, type Span } from "./machine.ts";

/** The machines of one type within a span. */
export interface TypeSum {
  type: string;
  machines: number;
  /** How long its machines were there, added up. */
  lifeMs: number;
  /** Of machines of known price. */
  cost: number;
  unpriced: number;
  /** Machines that are there now, by state. */
  now: Record<string, number>;
  /** How many were there from each moment on, in order. */
  steps: { atMs: number; count: number }[];
  /** The most at a time. */
  most: number;
}

/** The sums of each type, the most expensive first. */
export function typesOf(machines: readonly Machine[], span: Span): TypeSum[] {
  return [...Map.groupBy(machines, ({ type }) => type)]
    .map(([type, all]) => sumOf(type, all, span))
    .sort((a, b) => b.cost - a.cost || b.lifeMs - a.lifeMs || (a.type < b.type ? -1 : 1));
}

/** The sums of some machines. `name` stands for their type. */
export function sumOf(name: string, machines: readonly Machine[], span: Span): TypeSum {
  const costs = machines.map((machine) => costWithin(machine, span));
  const now: Record<string, number> = {};
  for (const { goneMs, state } of machines) if (goneMs === null) now[state] = (now[state] ?? 0) + 1;
  const steps = stepsOf(machines, span);
  return {
    type: name,
    machines: machines.length,
    lifeMs: machines.reduce((sum, machine) => sum + lifeWithin(machine, span), 0),
    cost: costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
    unpriced: costs.filter((cost) => cost === null).length,
    now,
    steps,
    most: Math.max(0, ...steps.map(({ count }) => count)),
  };
}

function stepsOf(machines: readonly Machine[], { fromMs, toMs }: Span): TypeSum["steps"] {
  const changes = machines.flatMap(({ askedMs, goneMs }) => {
    const begin = { atMs: Math.max(askedMs, fromMs), by: 1 };
    return goneMs === null || goneMs > toMs ? [begin] : [begin, { atMs: Math.max(goneMs, fromMs), by: -1 }];
  });
  const steps: TypeSum["steps"] = [];
  let count = 0;
  for (const { atMs, by } of changes.sort((a, b) => a.atMs - b.atMs || a.by - b.by)) {
    count += by;
    const last = steps.at(-1);
    if (last?.atMs === atMs) last.count = count;
    else steps.push({ atMs, count });
  }
  return steps;
}
