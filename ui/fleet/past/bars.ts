// What did each machine do when? One bar for each, cut into parts (ui.md#fleet).
import type { Look, Reach } from "./looks.ts";
import type { Machine, Span } from "./machine.ts";
import type { Use } from "./use.ts";

/** What a machine does in a part of its bar. */
export const KINDS = ["booting", "running", "idle", "ending", "unknown"] as const;
export type Kind = (typeof KINDS)[number];

/** A part of a bar. `share`: how full running machines were on average, from 0 to 1; null: unknown. */
export interface Part extends Span {
  kind: Kind;
  share: number | null;
}

/** A machine, and what it did within a span. */
export interface Bar {
  machine: Machine;
  parts: readonly Part[];
}

/** What is known of the pool's machines. Use before `sinceMs` is not. */
export interface Known {
  reaches: readonly Reach[];
  /** The looks that agree with the known use. */
  fitting: ReadonlySet<Look>;
  use: Use;
  sinceMs: number;
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
    { kind: "booting", fromMs: askedMs, toMs: bootedMs, share: null },
    ...served(machine, known, { fromMs: Math.max(bootedMs, span.fromMs), toMs: Math.min(stopMs, span.toMs) }),
    { kind: "ending", fromMs: stopMs, toMs: endMs, share: null },
  ];
  return { machine, parts: joined(parts.flatMap((part) => clipped(part, span))) };
}

/** The time in which the machine could have runs. */
function served({ id, state, goneMs }: Machine, known: Known, span: Span): Part[] {
  const { reaches, fitting, use, sinceMs } = known;
  const spans = use.get(id) ?? [];
  // Of such a machine the list of now does not say what it does.
  const isLost = goneMs === null && (state === "unknown" || state === "shutdown");
  const parts: Part[] = [];
  let doneMs = span.fromMs;
  for (const [index, { look, ...reach }] of reaches.entries()) {
    const fromMs = Math.max(reach.fromMs, span.fromMs, doneMs);
    const toMs = Math.min(reach.toMs, span.toMs);
    if (fromMs >= toMs) continue;
    parts.push(unknown(doneMs, fromMs));
    const isSure = fitting.has(look) && fromMs >= sinceMs && !(isLost && index === reaches.length - 1);
    parts.push(...cut({ fromMs, toMs }, spans, look.share, isSure ? "idle" : "unknown"));
    doneMs = toMs;
  }
  return [...parts, unknown(doneMs, span.toMs)].filter(({ fromMs, toMs }) => fromMs < toMs);
}

function unknown(fromMs: number, toMs: number): Part {
  return { kind: "unknown", fromMs, toMs, share: null };
}

/** The span, running where it has runs, and `otherwise` where it has none. */
function cut({ fromMs, toMs }: Span, runs: readonly Span[], share: number | null, otherwise: Kind): Part[] {
  const parts: Part[] = [];
  let doneMs = fromMs;
  for (const run of runs) {
    const [begin, end] = [Math.max(run.fromMs, doneMs), Math.min(run.toMs, toMs)];
    if (begin >= end) continue;
    parts.push({ kind: otherwise, fromMs: doneMs, toMs: begin, share: null });
    parts.push({ kind: "running", fromMs: begin, toMs: end, share });
    doneMs = end;
  }
  return [...parts, { kind: otherwise, fromMs: doneMs, toMs, share: null }];
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
    if (
      last !== undefined &&
      last.kind === part.kind &&
      last.share === part.share &&
      last.toMs === part.fromMs
    )
      last.toMs = part.toMs;
    else all.push({ ...part });
  }
  return all;
}

/** How long the machine did this, in milliseconds. */
export function timeIn({ parts }: Bar, kind: Kind): number {
  return parts.filter((part) => part.kind === kind).reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
}
