// How is a machine of the picture told in words? The same in its name, in the line below, and in the table.
import { money } from "../../src/shared/cloud/money.ts";
import { took, utc } from "../parts/time.tsx";
import { type Bar, KINDS, timeIn } from "./past/bars.ts";
import { costWithin, type Span } from "./past/machine.ts";

/** An amount of money; of unknown price, `unknown`. */
export function amountText(cost: number | null): string {
  return cost === null ? "unknown" : money(cost);
}

/** A moment in UTC: `2026-11-21 08:30:00 UTC`. */
export function momentText(atMs: number): string {
  return utc(new Date(atMs).toISOString());
}

/** How long the machine did what within the span: `booting 40s, running 3h12m`. */
export function timesText(bar: Bar): string {
  return KINDS.map((kind) => [kind, timeIn(bar, kind)] as const)
    .filter(([, ms]) => ms > 0)
    .map(([kind, ms]) => `${kind} ${took(ms)}`)
    .join(", ");
}

/** All that the picture shows of a machine. */
export function barText(bar: Bar, span: Span): string {
  const { id, type, state, askedMs, goneMs } = bar.machine;
  const until = goneMs === null ? "" : `, gone ${momentText(goneMs)}`;
  const cost = amountText(costWithin(bar.machine, span));
  return `${id}, ${type}, ${state}; asked ${momentText(askedMs)}${until}; ${timesText(bar)}; cost ${cost}`;
}
