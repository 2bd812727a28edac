// Which machines were there in a time, live and gone ones alike, and what did each cost in it (ui.md#fleet)?
import type { GoneWorker, ListedWorker, WorkerStateName } from "../../../src/generated/api.ts";

/** From `fromMs` on, and before `toMs`. */
export interface Span {
  fromMs: number;
  toMs: number;
}

/** A machine, as lists of the API tell of it. */
export interface Machine {
  id: string;
  type: string;
  state: WorkerStateName;
  askedMs: number;
  readyMs: number | null;
  /** When it began to end, if it said so. */
  endingMs: number | null;
  /** Null: it is there. */
  goneMs: number | null;
  /** Per hour; null: unknown. */
  price: number | null;
  /** Of its whole life, once it is gone; null: unknown, or not over. */
  cost: number | null;
  /** The runs that it has now. */
  runs: readonly string[];
}

const HOUR_MS = 3_600_000;

/**
 * The machines of both lists that were there within the span, in the order of their requests. `endings`: when
 * machines that are still there began to end, by id, as far as that is known.
 */
export function machinesOf(
  live: readonly ListedWorker[],
  gone: readonly GoneWorker[],
  endings: ReadonlyMap<string, number>,
  span: Span,
): Machine[] {
  // A machine that ended between the two questions is in both lists: its end is the later news.
  const all = new Map<string, Machine>();
  for (const worker of live) all.set(worker.id, liveMachine(worker, endings));
  for (const worker of gone) all.set(worker.id, goneMachine(worker));
  return [...all.values()]
    .filter(({ askedMs, goneMs }) => askedMs < span.toMs && (goneMs ?? span.toMs) >= span.fromMs)
    .sort((a, b) => a.askedMs - b.askedMs || (a.id < b.id ? -1 : 1));
}

function liveMachine(worker: ListedWorker, endings: ReadonlyMap<string, number>): Machine {
  const { id, instanceType, state, askedAt, readyAt, price, runs } = worker;
  const endingMs = state === "shutdown" ? (endings.get(id) ?? null) : null;
  const times = { askedMs: Date.parse(askedAt), readyMs: msOf(readyAt), endingMs, goneMs: null };
  return { id, type: instanceType, state, ...times, price, cost: null, runs };
}

function goneMachine(worker: GoneWorker): Machine {
  const { id, instanceType, state, price, cost } = worker;
  const times = {
    askedMs: Date.parse(worker.askedAt),
    readyMs: msOf(worker.readyAt),
    endingMs: msOf(worker.endingAt),
    goneMs: Date.parse(worker.goneAt),
  };
  return { id, type: instanceType, state, ...times, price, cost, runs: [] };
}

function msOf(at: string | null): number | null {
  return at === null ? null : Date.parse(at);
}

/** The part of the span, in milliseconds, in which the machine was there, from its request to its end. */
export function lifeWithin({ askedMs, goneMs }: Machine, { fromMs, toMs }: Span): number {
  return Math.max(0, Math.min(goneMs ?? toMs, toMs) - Math.max(askedMs, fromMs));
}

/**
 * What the machine cost in the span; null: its price is unknown. Of a machine that is gone, the API tells the
 * cost of its whole life, and the span has its share of that. Of a machine that is there, the time counts at
 * its latest price.
 */
export function costWithin(machine: Machine, span: Span): number | null {
  const { askedMs, goneMs, price, cost } = machine;
  const lifeMs = lifeWithin(machine, span);
  if (goneMs === null) return price === null ? null : (price * lifeMs) / HOUR_MS;
  if (cost === null || goneMs <= askedMs) return cost;
  return (cost * lifeMs) / (goneMs - askedMs);
}
