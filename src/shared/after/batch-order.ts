// In which order are the runs of one submission stored, so that each finds what it follows (api.md#after)?
import type { After } from "./entries.ts";
import { arraysIn, runOf } from "./entries.ts";

/** A run of a submission, as far as the order depends on it. */
export interface Ordered {
  id: string;
  pool: string;
  array?: { id: string } | undefined;
  after?: readonly After[] | undefined;
}

/** The runs by their place in the submission, each later than those that it follows; or a circle of names. */
export type BatchOrder = { waves: number[][] } | { circle: string[] };

/** A run, or an array of which the submission has runs: what others can follow. */
interface Node {
  name: string;
  /** Its place in the submission; undefined for an array. */
  index?: number;
  follows: string[];
}

/**
 * Sorts the runs of a submission into waves: nothing follows what comes later or in its own wave. Runs and
 * arrays that are not of this submission do not matter. An array is one node, so a thousand runs that
 * follow an array of a thousand are two thousand steps and not a million.
 */
export function batchOrder(runs: readonly Ordered[]): BatchOrder {
  const nodes = nodesOf(runs);
  const depths = new Map<string, number>();
  const path: string[] = [];
  const visit = (key: string): string[] | undefined => {
    const node = nodes.get(key);
    if (node === undefined || depths.has(key)) return undefined;
    const from = path.indexOf(key);
    if (from >= 0) return [...path.slice(from), key];
    path.push(key);
    let depth = 0;
    for (const other of node.follows) {
      const circle = visit(other);
      if (circle !== undefined) return circle;
      depth = Math.max(depth, (depths.get(other) ?? -1) + 1);
    }
    path.pop();
    depths.set(key, depth);
    return undefined;
  };
  for (const key of nodes.keys()) {
    const circle = visit(key);
    if (circle !== undefined) return { circle: circle.map((one) => nodes.get(one)?.name ?? one) };
  }
  const waves: number[][] = [];
  for (const [key, { index }] of nodes) {
    if (index === undefined) continue;
    const depth = depths.get(key) ?? 0;
    const wave = waves[depth];
    if (wave === undefined) waves[depth] = [index];
    else wave.push(index);
  }
  return { waves: waves.filter((wave) => wave !== undefined) };
}

function nodesOf(runs: readonly Ordered[]): Map<string, Node> {
  const nodes = new Map<string, Node>();
  for (const [index, { id, pool, after = [] }] of runs.entries()) {
    const follows = after.flatMap((one) => {
      const run = runOf(one);
      return run === undefined ? arraysIn([one]).map(({ array }) => arrayNode(pool, array)) : [runNode(run)];
    });
    nodes.set(runNode(id), { name: id, index, follows });
  }
  for (const { id, pool, array } of runs) {
    if (array === undefined) continue;
    const key = arrayNode(pool, array.id);
    const node = nodes.get(key);
    if (node === undefined) nodes.set(key, { name: `array ${array.id}`, follows: [runNode(id)] });
    else node.follows.push(runNode(id));
  }
  return nodes;
}

const runNode = (id: string) => `run ${id}`;
const arrayNode = (pool: string, id: string) => `array ${pool} ${id}`;
