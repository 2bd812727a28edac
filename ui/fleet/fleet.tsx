// The fleet of a pool over time: its queue, machines and money, as pictures and as tables (ui.md#fleet).
import { signal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { PoolSample, PoolView } from "../../src/generated/api.ts";
import { Choice } from "../parts/lists/choice.tsx";
import { Settled, Trouble } from "../parts/problem.tsx";
import { queryOf, withQuery } from "../router/place.ts";
import { useLoad } from "../store/load.ts";
import { QueueCharts } from "./charts.tsx";
import { Gantt, type Line, linesOfBars } from "./gantt.tsx";
import { areaOf } from "./past/draw.ts";
import { barsOf, type Fleet as FleetPast, fleetOf } from "./past/fleet.ts";
import type { Machine } from "./past/machine.ts";
import { type TypeSum, typesOf } from "./past/types.ts";
import { markMsFor, RANGES, type Range, rangeOf } from "./range.ts";
import { readFleet } from "./read.ts";
import { costText, MachineTable, QueueTable, Totals } from "./tables.tsx";
import { useWidth } from "./width.ts";

/** More bars than this say nothing: then there is one for each type. */
const MOST_BARS = 200;
/** The pixels of the names beside the bars, where axes of charts are, too. */
const NAMES_PX = { wide: 176, narrow: 104 };
const NARROW_PX = 600;
/** Samples come once a minute; the past of a pool is read from whole tables, so it is not asked for more. */
const EVERY_MS = 60_000;

/** The section of the page of a pool. */
export function Fleet({ pool }: { pool: PoolView }) {
  const { name } = pool;
  const range = rangeOf(queryOf("range"));
  const known = useRef<{ key: string; samples: readonly PoolSample[] }>({ key: "", samples: [] });
  const key = `${name} ${range.word}`;
  const read = useLoad({
    key,
    everyMs: EVERY_MS,
    ask: async (signal) => {
      const before = known.current.key === key ? known.current.samples : [];
      const answer = await readFleet(name, range.lengthMs, before, signal);
      known.current = { key, samples: answer.samples };
      return answer;
    },
  });
  const fleet = useMemo(() => read.value && fleetOf(read.value, pool.queue), [read.value]);
  return (
    <section aria-label="Over time">
      <h2>Over time</h2>
      <Choices range={range} />
      <Trouble error={read.error} again={read.again} />
      <Settled isStale={read.isStale}>{fleet && <Shown fleet={fleet} range={range} />}</Settled>
    </section>
  );
}

function Choices({ range }: { range: Range }) {
  const isTable = queryOf("show") === "table";
  return (
    <div class="filters">
      <nav class="pages" aria-label="Time">
        {RANGES.map((one) => (
          <Choice key={one.word} to={{ range: one.word }} isChosen={one === range}>
            {one.word}
          </Choice>
        ))}
      </nav>
      <nav class="pages" aria-label="Form">
        <Choice to={{ show: undefined }} isChosen={!isTable}>
          Pictures
        </Choice>
        <Choice to={{ show: "table" }} isChosen={isTable}>
          Tables
        </Choice>
      </nav>
    </div>
  );
}

function Shown({ fleet, range }: { fleet: FleetPast; range: Range }) {
  const type = queryOf("type");
  const machines = useMemo(
    () => (type === "" ? fleet.machines : fleet.machines.filter((machine) => machine.type === type)),
    [fleet, type],
  );
  return (
    <>
      {!fleet.isWhole && (
        <p class="trouble">There are more machines than the page reads: the oldest ones are not in it.</p>
      )}
      {queryOf("show") === "table" ? (
        <>
          <h3>Machines</h3>
          <MachineTable fleet={fleet} machines={machines} />
          <h3>Queue</h3>
          <QueueTable fleet={fleet} rowMs={range.rowMs} />
        </>
      ) : (
        <Pictures fleet={fleet} range={range} machines={machines} />
      )}
      <h3>By type</h3>
      <Totals fleet={fleet} chosen={type} />
    </>
  );
}

function Pictures({
  fleet,
  range,
  machines,
}: {
  fleet: FleetPast;
  range: Range;
  machines: readonly Machine[];
}) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place).value;
  const cursor = useMemo(() => signal<number | undefined>(undefined), []);
  const namesPx = width < NARROW_PX ? NAMES_PX.narrow : NAMES_PX.wide;
  const shared = { markMs: markMsFor(range, width - namesPx), width, namesPx, cursor };
  const isMany = machines.length > MOST_BARS;
  const lines = useMemo(
    () =>
      isMany
        ? linesOfTypes(typesOf(machines, fleet.span), fleet)
        : linesOfBars(barsOf(fleet, machines), fleet),
    [fleet, machines],
  );
  return (
    <div ref={place} class="fleet" style={{ "--names": `${namesPx}px` }}>
      <QueueCharts fleet={fleet} {...shared} />
      {isMany && (
        <p>
          {machines.length} machines are too many for a bar each. A bar is a type, and its height says how
          many machines of it were there. Choose a type or a shorter time to see each machine.
        </p>
      )}
      {lines.length === 0 ? (
        <p>No machine was there.</p>
      ) : (
        <Gantt lines={lines} span={fleet.span} {...shared} />
      )}
    </div>
  );
}

/** A line for each type, which leads to its machines. */
function linesOfTypes(types: readonly TypeSum[], { span }: FleetPast): Line[] {
  return types.map((sum) => ({
    key: sum.type,
    href: withQuery({ type: sum.type, page: undefined }),
    name: `${sum.type} (${sum.machines})`,
    text:
      `${sum.type} (${sum.machines}); at most ${sum.most} at a time; ` +
      `machine hours ${(sum.lifeMs / 3_600_000).toFixed(2)}; cost ${costText(sum)}`,
    draw: (frame) => <path class="part filled" d={areaOf(sum.steps, sum.most, { ...frame, ...span })} />,
  }));
}
