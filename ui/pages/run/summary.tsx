// What did a run do? Its tasks with their attempts, and the machines on which it was placed.
import type { RunStatus } from "../../../src/generated/api.ts";
import { money } from "../../../src/shared/cloud/money.ts";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { perHour } from "../../parts/price.ts";
import { Moment, Took } from "../../parts/time.tsx";
import { itemHref, withQuery } from "../../router/place.ts";
import { now } from "../../store/clock.ts";
import { Checks } from "./checks.tsx";
import { ADVICE, FAULTS } from "./failure.ts";
import { Facts } from "./head.tsx";
import { Outputs } from "./outputs.tsx";
import { Parked, TriesOf } from "./retry/tries.tsx";
import { Timeline } from "./timeline.tsx";

/** The first tab of a run. */
export function Summary({ run }: { run: RunStatus }) {
  return (
    <>
      <Parked run={run} />
      <Facts run={run} />
      {run.failure !== null && <Failed failure={run.failure} />}
      <Outputs run={run} />
      <TriesOf run={run} />
      <h2>Timeline</h2>
      <Timeline run={run} />
      <h2>Tasks</h2>
      <Tasks run={run} />
      <Checks run={run} />
      {run.placements.length > 0 && (
        <>
          <h2>Placements</h2>
          <Placements run={run} />
        </>
      )}
      {run.advice?.map(({ task, resource, text }) => (
        <p key={`${task} ${resource}`}>
          {task}: {text}
        </p>
      ))}
    </>
  );
}

function Failed({ failure: { code, text, class: fault } }: { failure: NonNullable<RunStatus["failure"]> }) {
  return (
    <div class="trouble">
      <p>
        {text} (<code>{code}</code>)
      </p>
      <p>
        {FAULTS[fault]} {ADVICE[code]}
      </p>
    </div>
  );
}

function Tasks({ run }: { run: RunStatus }) {
  return (
    <Scroll label="Tasks">
      <table>
        <Heads of={["Task", "Attempt", "State", "Started", "Took", "End"]} />
        <tbody>
          {run.tasks.flatMap(({ name, phase, nextStart, attempts }) => {
            if (attempts.length === 0) {
              return (
                <tr key={name}>
                  <td>{name}</td>
                  <td>–</td>
                  <td>{phase}</td>
                  <td colSpan={3}>{nextStart && <Moment at={nextStart} />}</td>
                </tr>
              );
            }
            return attempts.map((attempt) => {
              const number = attempt.id.slice(attempt.id.lastIndexOf("/") + 1);
              return (
                <tr key={attempt.id}>
                  <td>{name}</td>
                  <td>
                    <a href={withQuery({ tab: "log", task: name, attempt: number })}>{number}</a>
                  </td>
                  <td>{attempt.state}</td>
                  <td>
                    <Moment at={attempt.startedAt} />
                  </td>
                  <td>
                    <Took from={attempt.startedAt} to={attempt.finishedAt} />
                  </td>
                  <td>{attempt.exit?.message ?? "–"}</td>
                </tr>
              );
            });
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

function Placements({ run }: { run: RunStatus }) {
  return (
    <Scroll label="Placements">
      <table>
        <Heads of={["Worker", "From", "For", "Outcome", "Price", "Cost"]} />
        <tbody>
          {run.placements.map(({ epoch, worker, from, to, outcome, rate }) => (
            <tr key={epoch}>
              <td>
                <a href={itemHref("workers", worker)}>{worker}</a>
              </td>
              <td>
                <Moment at={from} />
              </td>
              <td>
                <Took from={from} to={to ?? run.finishedAt} />
              </td>
              <td>{outcome}</td>
              <td>{perHour(rate)}</td>
              <td>
                <PlacementCost from={from} to={to ?? run.finishedAt} rate={rate} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** What a place has cost until now. */
function PlacementCost(props: { from: string; to: string | null; rate: number | undefined }) {
  const { from, to, rate } = props;
  if (rate === undefined) return <>unknown</>;
  const endMs = to === null ? now.value : Date.parse(to);
  return <>{money((rate * Math.max(0, endMs - Date.parse(from))) / HOUR_MS)}</>;
}

const HOUR_MS = 3_600_000;
