// How did the queue change? Two lines over the time of the fleet's picture, with its cursor (ui.md#fleet).
import { effect, type Signal, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { took } from "../parts/time.tsx";
import type { Fleet } from "./past/fleet.ts";
import { linesOf, lookAt, type QueueLook } from "./past/queue.ts";
import { marksOf, markText } from "./range.ts";
import { momentText } from "./words.ts";

const HEIGHT_PX = 120;
const COUNTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];
const SECONDS = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 14_400, 43_200, 86_400, 604_800];

interface ChartsProps {
  fleet: Fleet;
  markMs: number;
  width: number;
  namesPx: number;
  cursor: Signal<number | undefined>;
}

/** The depth of the queue, and the age of the run that has waited longest. */
export function QueueCharts(props: ChartsProps) {
  const { queue } = props.fleet;
  const lines = useMemo(() => linesOf(queue), [queue]);
  const most = (of: (look: QueueLook) => number) => Math.max(0, ...queue.map(of));
  const age = (ms: number) => (ms === 0 ? "none waits" : took(ms));
  return (
    <>
      <Chart
        {...props}
        title="Runs waiting"
        at={lines.atSeconds}
        values={lines.depth}
        steps={COUNTS}
        valueText={String}
        now={String(queue.at(-1)?.depth ?? 0)}
        most={String(most(({ depth }) => depth))}
        told={({ depth }) => String(depth)}
      />
      <Chart
        {...props}
        title="The oldest waits for"
        at={lines.atSeconds}
        values={lines.oldestSeconds}
        steps={SECONDS}
        valueText={(seconds) => (seconds === 0 ? "0" : took(seconds * 1_000))}
        now={age(queue.at(-1)?.oldestMs ?? 0)}
        most={age(most(({ oldestMs }) => oldestMs))}
        told={({ oldestMs }) => age(oldestMs)}
      />
      <p class="told">
        Times are in UTC. Without a line nobody looked: the pool was empty, or Drover did not run.
      </p>
    </>
  );
}

interface ChartProps extends ChartsProps {
  title: string;
  at: number[];
  values: (number | null)[];
  steps: number[];
  valueText(value: number): string;
  now: string;
  most: string;
  told(look: QueueLook): string;
}

function Chart(props: ChartProps) {
  const { fleet, markMs, width, namesPx, cursor, title, at, values } = props;
  const place = useRef<HTMLDivElement>(null);
  const fault = useMemo(() => signal(false), []);
  useEffect(() => {
    const ending = new AbortController();
    const draw = async () => {
      const { drawChart } = await import("./chart.ts");
      if (place.current === null || width <= namesPx || ending.signal.aborted) return;
      const marks = marksOf(fleet.span, markMs);
      const look = { span: fleet.span, marks, markText: (ms: number) => markText(ms, markMs) };
      const { steps, valueText } = props;
      const size = { width, height: HEIGHT_PX, axisPx: namesPx };
      const chart = { ...look, ...size, atSeconds: at, values, steps, valueText };
      const drawn = drawChart(place.current, chart, (atMs) => {
        cursor.value = atMs;
      });
      const stop = effect(() => drawn.point(cursor.value));
      ending.signal.addEventListener("abort", () => {
        stop();
        drawn.destroy();
      });
    };
    draw().catch(() => {
      fault.value = true;
    });
    return () => ending.abort();
  }, [fleet, width, markMs]);
  return (
    <figure class="chart">
      <figcaption>
        {title}: now {props.now}, at most {props.most}
        <Told {...props} />
      </figcaption>
      {fault.value && <p class="trouble">The chart could not be loaded. Its table has the same numbers.</p>}
      {/* The caption and the table say what the lines show. Nothing may move while a chart is drawn again, or
          the pointer leaves it. */}
      <div ref={place} aria-hidden="true" style={{ minHeight: `${HEIGHT_PX}px` }}>
        <i class="line" />
        <i class="grid" />
        <i class="text" />
      </div>
    </figure>
  );
}

function Told({ cursor, fleet, told }: ChartProps) {
  const atMs = cursor.value;
  if (atMs === undefined) return null;
  const look = lookAt(fleet.queue, atMs);
  return (
    <span class="told">
      ; {momentText(atMs)}: {look === undefined ? "unknown" : told(look)}
    </span>
  );
}
