// Which ticks of a job come next, and which have come without a run yet (jobs.md#ticks)?
import type { Job, JobTick } from "../../../src/generated/api.ts";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { took } from "../../parts/time.tsx";
import { localWords } from "../jobs/local.ts";
import { TickTime } from "../jobs/tick-time.tsx";

/** The most rows of a table that are in the document (ui.md#d14). */
const MOST = 50;

/** The ticks that wait, and the next ones. Nothing for a job without a schedule. */
export function Ticks({ job: { schedule, next, waiting, paused } }: { job: Job }) {
  const zone = schedule?.zone ?? "UTC";
  return (
    <>
      {waiting.length > 0 && (
        <>
          <h2>Waiting ticks</h2>
          <p>
            They have come, and their runs are submitted at their start, in this order, when the pool takes
            them.
            {waiting.length > MOST && ` These are the first ${MOST} of ${waiting.length}.`}
          </p>
          <Table label="Waiting ticks" items={waiting.slice(0, MOST)} zone={zone} />
          {waiting.slice(0, MOST).flatMap(({ at, run, text }) =>
            text === undefined
              ? []
              : [
                  <p key={at}>
                    <code>{run}</code>: {text}
                  </p>,
                ],
          )}
        </>
      )}
      {schedule && (
        <>
          <h2>Next ticks</h2>
          {next.length > 0 ? (
            <Table label="Next ticks" items={next} zone={zone} />
          ) : (
            <p>{paused === null ? "None: its schedule has ended." : "None: it is paused."}</p>
          )}
        </>
      )}
    </>
  );
}

function Table({ label, items, zone }: { label: string; items: readonly JobTick[]; zone: string }) {
  return (
    <Scroll label={label}>
      <table>
        <Heads of={["Tick", `In ${zone}`, "Start", "Id of its run"]} />
        <tbody>
          {items.map((tick) => (
            <tr key={tick.at}>
              <td>
                <TickTime tick={tick} zone={zone} />
              </td>
              <td>{localWords(tick.local)}</td>
              <td>{startWords(tick)}</td>
              <td>
                <code>{tick.run}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** When its run is submitted: with the jitter, or made up, that is later than the tick. */
function startWords({ at, startAt }: JobTick): string {
  const laterMs = Date.parse(startAt) - Date.parse(at);
  return laterMs <= 0 ? "at the tick" : `${took(laterMs)} later`;
}
