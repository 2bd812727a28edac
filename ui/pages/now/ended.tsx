// How did the last 24 hours go? A column for each hour: the runs that ended in it, by state (ui.md#last-day).
import { ask } from "../../api/send.ts";
import { Choice } from "../../parts/lists/choice.tsx";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { Settled, Trouble } from "../../parts/problem.tsx";
import { queryOf } from "../../router/place.ts";
import { droverNow } from "../../store/clock.ts";
import { useLoad } from "../../store/load.ts";
import { ENDS, endsText, endText, firstHourMs, type HourOfEnds, hoursOf, sumOfHours } from "./hours.ts";

/** A pool counts once a minute at most. */
const EVERY_MS = 60_000;
const COLUMN = { width: 24, gap: 4, height: 64 };

/** The section of the page Now. `pools`: those that are shown. */
export function Ended({ pools }: { pools: readonly string[] }) {
  const read = useLoad({
    key: pools.length === 0 ? undefined : pools.join(" "),
    everyMs: EVERY_MS,
    ask: async (signal) => {
      const nowMs = droverNow();
      const query = { since: new Date(firstHourMs(nowMs)).toISOString() };
      const all = await Promise.all(
        pools.map((name) => ask("listPoolTallies", { path: { name }, query }, signal)),
      );
      return hoursOf(
        all.flatMap(({ items }) => items),
        nowMs,
      );
    },
  });
  const isTable = queryOf("ended") === "table";
  return (
    <section aria-label="Ended in the last 24 hours">
      <h2>Ended in the last 24 hours</h2>
      <Trouble error={read.error} again={read.again} />
      <Settled isStale={read.isStale}>{read.value && <Hours hours={read.value} isTable={isTable} />}</Settled>
    </section>
  );
}

function Hours({ hours, isTable }: { hours: readonly HourOfEnds[]; isTable: boolean }) {
  return (
    <>
      <p>
        {endsText(sumOfHours(hours))} <small>(counted once a minute)</small>{" "}
        <Choice to={{ ended: isTable ? undefined : "table" }}>
          {isTable ? "As a picture" : "As a table"}
        </Choice>
      </p>
      {isTable ? <HourTable hours={hours} /> : <Strip hours={hours} />}
    </>
  );
}

/** The picture. The sum above and the table say the same in words. */
function Strip({ hours }: { hours: readonly HourOfEnds[] }) {
  const most = Math.max(1, ...hours.map(({ all }) => all));
  const { width, height } = COLUMN;
  return (
    <>
      <svg class="strip" viewBox={`0 -1 ${hours.length * width} ${height + 2}`} aria-hidden="true">
        {hours.map((hour, index) => (
          <Column key={hour.fromMs} hour={hour} left={index * width} most={most} />
        ))}
        <path class="ground" d={`M0 ${height + 0.5}H${hours.length * width}`} />
      </svg>
      <ul class="legend">
        {ENDS.map((end) => (
          <li key={end}>
            <svg width="16" height="16" aria-hidden="true">
              <path class={`ends ${end}`} d="M1 1H15V15H1Z" />
            </svg>{" "}
            {endText(end)}
          </li>
        ))}
      </ul>
    </>
  );
}

function Column({ hour, left, most }: { hour: HourOfEnds; left: number; most: number }) {
  const { width, gap, height } = COLUMN;
  const y = (count: number) => Math.round((height - (count / most) * height) * 10) / 10;
  let below = 0;
  return (
    <g>
      <title>{`${hourText(hour)}: ${endsText(hour)}`}</title>
      {ENDS.map((end) => {
        const count = hour.ended[end];
        if (count === 0) return null;
        const [bottom, top] = [y(below), y(below + count)];
        below += count;
        const right = left + width - gap;
        return <path key={end} class={`ends ${end}`} d={`M${left} ${bottom}V${top}H${right}V${bottom}Z`} />;
      })}
    </g>
  );
}

function HourTable({ hours }: { hours: readonly HourOfEnds[] }) {
  return (
    <Scroll label="Runs that ended, by hour">
      <table class="ended">
        <Heads of={["Hour (UTC)", ...ENDS.map(endText), "All"]} />
        <tbody>
          {hours.toReversed().map((hour) => (
            <tr key={hour.fromMs}>
              <th scope="row">{hourText(hour)}</th>
              {ENDS.map((end) => (
                <td key={end}>{hour.ended[end]}</td>
              ))}
              <td>{hour.all}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function hourText({ fromMs }: HourOfEnds): string {
  return new Date(fromMs).toISOString().slice(0, 16).replace("T", " ");
}
