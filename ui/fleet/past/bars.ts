// What did each machine do when? One bar for each, cut into parts (ui.md#fleet).
import type { Stretch } from "./looks.ts";
import type { Machine, Span } from "./machine.ts";
import type { Use } from "./use.ts";

/** What a machine does in a part of its bar. */
export const KINDS = ["booting", "running", "idle", "ending", "unknown"] as const;
export type Kind = (typeof KINDS)[number];

/** A part of a bar. */
export interface Part extends Span {
  kind: Kind;
}

/** A machine, and what it did within a span. */
export interface Bar {
  machine: Machine;
  parts: readonly Part[];
}

/** What is known of the pool's machines. */
export interface Known {
  stretches: readonly Stretch[];
  use: Use;
  /** Since when the look of now speaks. */
  nowFromMs: number;
}

/**
 * The bar of a machine within a span. A machine boots until it is ready, and ends from its notice on. In
 * between it runs while it has runs, and is idle where a look agrees that it had none. Everything else is
 * unknown: nothing is concluded from silence.
 */
export function barOf(machine: Machine, known: Known, span: Span): Bar {
  const { askedMs, readyMs, endingMs, goneMs } = machine;
  const endMs = goneMs ?? span.toMs;
  const stopMs = Math.min(endingMs ?? endMs, endMs);
  const bootedMs = Math.min(readyMs ?? stopMs, stopMs);
  const parts: Part[] = [
    { kind: "booting", fromMs: askedMs, toMs: bootedMs },
    ...served(machine, known, { fromMs: Math.max(bootedMs, span.fromMs), toMs: Math.min(stopMs, span.toMs) }),
    { kind: "ending", fromMs: stopMs, toMs: endMs },
  ];
  return { machine, parts: joined(parts.flatMap((part) => clipped(part, span))) };
}

/** The time in which the machine could have runs. */
function served({ id, state, goneMs }: Machine, { stretches, use, nowFromMs }: Known, span: Span): Part[] {
  // Of such a machine the list of now does not say what it does.
  const isLost = goneMs === null && (state === "unknown" || state === "shutdown");
  const knownMs = isLost ? Math.min(nowFromMs, span.toMs) : span.toMs;
  const runs = use.get(id) ?? [];
  const parts: Part[] = [];
  let doneMs = span.fromMs;
  let next = 0;
  for (const stretch of stretches) {
    const fromMs = Math.max(stretch.fromMs, doneMs);
    const toMs = Math.min(stretch.toMs, knownMs);
    if (fromMs >= toMs) continue;
    parts.push({ kind: "unknown", fromMs: doneMs, toMs: fromMs });
    while ((runs[next]?.toMs ?? toMs) <= fromMs) next += 1;
    parts.push(...cut({ fromMs, toMs }, runs, next, stretch.isSure ? "idle" : "unknown"));
    doneMs = toMs;
  }
  return [...parts, { kind: "unknown", fromMs: doneMs, toMs: span.toMs }];
}

/** The span, running where one of the runs from `next` on is, and `otherwise` where none is. */
function cut({ fromMs, toMs }: Span, runs: readonly Span[], next: number, otherwise: Kind): Part[] {
  const parts: Part[] = [];
  let doneMs = fromMs;
  for (let index = next; index < runs.length; index += 1) {
    const run = runs[index];
    if (run === undefined || run.fromMs >= toMs) break;
    const [begin, end] = [Math.max(run.fromMs, doneMs), Math.min(run.toMs, toMs)];
    parts.push(
      { kind: otherwise, fromMs: doneMs, toMs: begin },
      { kind: "running", fromMs: begin, toMs: end },
    );
    doneMs = end;
  }
  return [...parts, { kind: otherwise, fromMs: doneMs, toMs }];
}

function clipped(part: Part, span: Span): Part[] {
  const fromMs = Math.max(part.fromMs, span.fromMs);
  const toMs = Math.min(part.toMs, span.toMs);
  return fromMs < toMs ? [{ ...part, fromMs, toMs }] : [];
}

/** Parts side by side that are alike become one part. */
function joined(parts: readonly Part[]): Part[] {
  const all: Part[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (last?.kind === part.kind && last.toMs === part.fromMs) last.toMs = part.toMs;
    else all.push({ ...part });
  }
  return all;
}

/** How long the machine did this, in milliseconds. */
export function timeIn({ parts }: Bar, kind: Kind): number {
  return parts.filter((part) => part.kind === kind).reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
}
