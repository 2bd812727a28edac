// How long does a user wait, from submission to start and to the end?
import { type Drover, endOf } from "../drover.ts";
import { percentile, type Row } from "../table.ts";

/** A command that prints the time at which it runs, in nanoseconds since 1970. */
const CLOCK = ["date", "+%s%N"];

/** Milliseconds since 1970, with fractions, on the same clock as `date`. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * Runs one command after another on a warm host, and measures the time until the submission is acknowledged
 * (and stored), until the command runs, and until a waiting client learns of its end. The time until the
 * command runs includes the start of `date`, about a millisecond.
 */
export function measureLatency(drover: Drover, runs: number): Promise<Row[]> {
  return measure(drover, (n) => n < runs);
}

/** Measures the same for `ms` milliseconds. */
export function measureLatencyFor(drover: Drover, ms: number): Promise<Row[]> {
  const until = now() + ms;
  return measure(drover, () => now() < until);
}

async function measure(drover: Drover, continues: (runs: number) => boolean): Promise<Row[]> {
  const acknowledged: number[] = [];
  const started: number[] = [];
  const ended: number[] = [];
  for (let n = 0; continues(n); n += 1) {
    const submittedAt = now();
    const { id } = await drover.call<{ id: string }>("POST", "/v1/runs", { argv: CLOCK });
    acknowledged.push(now() - submittedAt);
    await endOf(drover, id);
    ended.push(now() - submittedAt);
    const ranAt = Number(await drover.call<number>("GET", `/v1/runs/${id}/logs/main/stdout`)) / 1e6;
    started.push(ranAt - submittedAt);
  }
  return [
    row("submit → acknowledged", acknowledged, "p50 ≤ 10 ms"),
    row("submit → process started", started, "p50 ≤ 25 ms, p95 ≤ 60 ms"),
    row("submit → end known", ended, ""),
  ];
}

function row(what: string, times: number[], budget: string): Row {
  const ms = (share: number) => `${percentile(times, share).toFixed(1)} ms`;
  return { what, n: times.length, p50: ms(0.5), p95: ms(0.95), max: ms(1), budget };
}
