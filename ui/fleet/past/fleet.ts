// What does the picture of a fleet show, made from what was read (ui.md#fleet)?
import type { PoolSample, PoolView } from "../../../src/generated/api.ts";
import type { FleetRead } from "../read.ts";
import { type Bar, barOf, type Known } from "./bars.ts";
import { type Look, lookNow, lookOf, type Reach, reachesOf, stretchesOf } from "./looks.ts";
import { type Machine, machinesOf, type Span } from "./machine.ts";
import { type QueueLook, queueLook } from "./queue.ts";
import { fittingLooks, useOf } from "./use.ts";

/** The fleet within a span. */
export interface Fleet {
  span: Span;
  machines: readonly Machine[];
  known: Known;
  /** How full the machines were that ran. */
  reaches: readonly Reach[];
  queue: readonly QueueLook[];
  /** Whether all machines of the span have been read. */
  isWhole: boolean;
}

/** The fleet that has been read. */
export function fleetOf(read: FleetRead, queue: PoolView["queue"]): Fleet {
  const { span, samples, live, gone, placements, isWhole } = read;
  const endings = placements.items.flatMap(({ what, worker, at }) =>
    what === "machine_ending" && worker !== null ? [[worker, Date.parse(at)] as const] : [],
  );
  const machines = machinesOf(live, gone, new Map(endings), span);
  const present = machines.filter(({ goneMs }) => goneMs === null);
  const use = useOf(placements, present);
  const looks = looksOf(samples, present, span.toMs);
  const reaches = reachesOf(looks);
  const stretches = stretchesOf(reaches, fittingLooks(looks, use), placements.sinceMs);
  const known = { stretches, use, nowFromMs: reaches.at(-1)?.fromMs ?? span.toMs };
  const queueLooks = [
    ...samples.map((sample) => queueLook(Date.parse(sample.at), sample.queue)),
    queueLook(span.toMs, queue),
  ];
  return { span, machines, known, reaches, queue: queueLooks, isWhole };
}

function looksOf(samples: readonly PoolSample[], present: readonly Machine[], nowMs: number): Look[] {
  const looks = samples.map(lookOf).filter(({ atMs }) => atMs < nowMs);
  const running = present.filter(({ state }) => state === "running").length;
  return [...looks, lookNow(running, nowMs, looks.at(-1))];
}

/** The bars of machines of the fleet. */
export function barsOf({ known, span }: Fleet, machines: readonly Machine[]): Bar[] {
  return machines.map((machine) => barOf(machine, known, span));
}
