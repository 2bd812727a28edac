// Which functions take the most time of a profile, by themselves and with all that they call?
import type { CpuProfile, ProfileNode } from "./inspector.ts";

/** What V8 calls the time in which nothing ran, or in which something else than the program did. */
const IDLE = "(idle)";
const ROOT = "(root)";

/** A function of a profile, and how long it was on the stack. */
export interface HotFunction {
  name: string;
  /** The script and the line, from 1, at which it begins; empty for parts of V8. */
  at: { url: string; line: number } | undefined;
  /** Microseconds in the function itself. */
  selfUs: number;
  /** Microseconds in it and in what it calls. A recursive function counts once for each sample. */
  totalUs: number;
}

/** Adds up a profile by function: who calls it makes no difference. In no order. */
export function functionsOf({ nodes, samples, timeDeltas }: CpuProfile): HotFunction[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const selfUs = new Map<number, number>();
  samples.forEach((id, n) => {
    selfUs.set(id, (selfUs.get(id) ?? 0) + (timeDeltas[n] ?? 0));
  });
  const functions = new Map<string, HotFunction>();
  for (const [id, us] of selfUs) {
    const above = new Set<HotFunction>();
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const node = byId.get(at);
      if (node !== undefined && node.callFrame.functionName !== ROOT) above.add(functionOf(functions, node));
    }
    const top = byId.get(id);
    if (top !== undefined) functionOf(functions, top).selfUs += us;
    for (const one of above) one.totalUs += us;
  }
  return [...functions.values()];
}

/** Microseconds of a profile in which the program worked. */
export function busyUs(functions: readonly HotFunction[]): number {
  return functions.reduce((sum, { name, selfUs }) => sum + (name === IDLE ? 0 : selfUs), 0);
}

/** The `count` functions that work longest, by one of their times. */
export function hottest(
  functions: readonly HotFunction[],
  by: "selfUs" | "totalUs",
  count: number,
): HotFunction[] {
  return functions
    .filter(({ name }) => name !== IDLE)
    .toSorted((a, b) => b[by] - a[by])
    .slice(0, count);
}

function functionOf(functions: Map<string, HotFunction>, { callFrame }: ProfileNode): HotFunction {
  const { functionName, url, lineNumber, columnNumber } = callFrame;
  const key = `${functionName} ${url}:${lineNumber}:${columnNumber}`;
  const known = functions.get(key);
  if (known !== undefined) return known;
  const at = url === "" ? undefined : { url, line: lineNumber + 1 };
  const made = { name: functionName === "" ? "(anonymous)" : functionName, at, selfUs: 0, totalUs: 0 };
  functions.set(key, made);
  return made;
}
