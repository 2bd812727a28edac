// How is a line over time drawn? By uPlot, in the colors of the page. Only charts load this file.
import uPlot from "uplot";
import type { Span } from "./past/machine.ts";

/** A line, and the axes that it is drawn in. */
export interface LineChart {
  span: Span;
  marks: readonly number[];
  markText(atMs: number): string;
  atSeconds: number[];
  values: (number | null)[];
  valueText(value: number): string;
  /** The ways between two marks of the vertical axis that may be. */
  steps: number[];
  width: number;
  height: number;
  /** The pixels of the vertical axis. */
  axisPx: number;
}

/** The line does not touch the upper edge. */
const HEADROOM = 1.1;

/** What can be done with a chart that is drawn. */
interface Drawn {
  /** Shows the cursor at this moment, or nowhere. */
  point(atMs: number | undefined): void;
  destroy(): void;
}

/** The looks of the reader's system that change colors. */
const LOOKS = ["(prefers-color-scheme: dark)", "(forced-colors: active)", "(prefers-contrast: more)"];

/**
 * Draws a chart. `place` has an element of each of the classes `line`, `grid` and `text`, whose colors the
 * chart takes. `pointed` hears of the moment that the pointer is at.
 */
export function drawChart(
  place: HTMLElement,
  chart: LineChart,
  pointed: (atMs: number | undefined) => void,
): Drawn {
  const { span, width, height, atSeconds, values } = chart;
  // Before its first drawing, which comes later, a chart has no scales, so that moments have no place in it,
  // and what it says of its own cursor is not what the pointer does.
  let isReady = false;
  let cursorMs: number | undefined;
  const showCursor = (plot: uPlot) => {
    const left = cursorMs === undefined ? -10 : plot.valToPos(cursorMs / 1_000, "x");
    plot.setCursor({ left, top: cursorMs === undefined ? -10 : 1 }, false);
  };
  const options: uPlot.Options = {
    width,
    height,
    legend: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    cursor: { y: false, drag: { x: false, y: false, setScale: false } },
    scales: {
      x: { time: false, range: [span.fromMs / 1_000, span.toMs / 1_000] },
      y: { range: (_, __, most) => [0, Math.max(1, most) * HEADROOM] },
    },
    padding: [8, 0, 0, 0],
    ...partsOf(place, chart),
    hooks: {
      ready: [
        (plot) => {
          isReady = true;
          showCursor(plot);
        },
      ],
      setCursor: [
        (plot) => {
          if (!isReady) return;
          const { left = -1 } = plot.cursor;
          pointed(left < 0 ? undefined : plot.posToVal(left, "x") * 1_000);
        },
      ],
    },
  };
  const plot = new uPlot(options, [atSeconds, values], place);
  const redraw = () => plot.redraw();
  const looks = LOOKS.map((look) => matchMedia(look));
  for (const look of looks) look.addEventListener("change", redraw);
  return {
    point(atMs) {
      cursorMs = atMs;
      if (isReady) showCursor(plot);
    },
    destroy() {
      for (const look of looks) look.removeEventListener("change", redraw);
      plot.destroy();
    },
  };
}

function partsOf(place: HTMLElement, chart: LineChart): Pick<uPlot.Options, "axes" | "series"> {
  // Colors are asked for at each drawing, so that they follow the theme.
  const ink = (name: string) => () => {
    const element = place.querySelector(`.${name}`) ?? place;
    return getComputedStyle(element).color;
  };
  const [line, grid] = [ink("line"), ink("grid")];
  const text = ink("text");
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1, size: 4 } };
  return {
    axes: [
      {
        ...axis,
        size: 24,
        splits: chart.marks.map((atMs) => atMs / 1_000),
        values: (_, seconds) => seconds.map((one) => chart.markText(one * 1_000)),
      },
      {
        ...axis,
        size: chart.axisPx,
        incrs: chart.steps,
        values: (_, all) => all.map(chart.valueText),
      },
    ],
    series: [{}, { stroke: line, width: 1.5, points: { stroke: line, fill: line, size: 4 } }],
  };
}
