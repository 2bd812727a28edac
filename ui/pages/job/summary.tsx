// What does a job run and when, with which values, and what came of its ticks?
import type { Job, JobParam } from "../../../src/generated/api.ts";
import { imagesOf } from "../../../src/shared/containers/images.ts";
import { commandOf } from "../../parts/command.ts";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { Moment, utc } from "../../parts/time.tsx";
import { itemHref } from "../../router/place.ts";
import { historyHref } from "../events/filter.ts";
import { cronsOf, cronWords, type Schedule, scheduleWords } from "../jobs/words.ts";
import { History } from "./history.tsx";
import { ParkedRuns } from "./parked.tsx";
import { Ticks } from "./ticks.tsx";
import { rulesOf } from "./values.ts";

/** The first tab of a job. */
export function Summary({ job }: { job: Job }) {
  return (
    <>
      <Facts job={job} />
      <Params params={Object.entries(job.params ?? {})} />
      <ParkedRuns job={job} />
      <Ticks job={job} />
      <History job={job} />
    </>
  );
}

function Facts({ job }: { job: Job }) {
  const { name, spec, pool, version, schedule, payload = "forbidden", meta } = job;
  const images = imagesOf(spec);
  const keys = [...(meta?.required ?? []), ...(meta?.optional ?? [])];
  return (
    <dl class="facts each">
      <dt>Command</dt>
      <dd>
        <code>{commandOf(spec)}</code>
      </dd>
      {images.length > 0 && (
        <>
          <dt>Image</dt>
          <dd>{images.join(", ")}</dd>
        </>
      )}
      <dt>Pool</dt>
      <dd>
        <a href={itemHref("pools", pool)}>{pool}</a>
      </dd>
      <dt>Schedule</dt>
      <dd>{schedule ? <When schedule={schedule} /> : "none: it runs when it is triggered"}</dd>
      {spec.after !== undefined && (
        <>
          <dt>Follows</dt>
          <dd>
            {spec.after.map(({ job: other, on = "success", maxAge }) => (
              <div key={`${other} ${on} ${maxAge}`}>
                <a href={itemHref("jobs", other)}>{other}</a>{" "}
                <small>
                  {on === "any" ? "however it ends" : `its ${on}`}
                  {maxAge !== undefined && `; no run older than ${maxAge}`}
                </small>
              </div>
            ))}
          </dd>
        </>
      )}
      {payload !== "forbidden" && (
        <>
          <dt>Payload</dt>
          <dd>
            {payload}, in <code>{job.payloadFile}</code>
          </dd>
        </>
      )}
      {keys.length > 0 && (
        <>
          <dt>Keys of meta</dt>
          <dd>{keys.join(", ")}</dd>
        </>
      )}
      <dt>Version</dt>
      <dd>
        {version}, stored <Moment at={job.changedAt} /> by {job.changedBy}
      </dd>
      <dt>Made</dt>
      <dd>
        <Moment at={job.createdAt} /> by {job.createdBy}
      </dd>
      <dt>History</dt>
      <dd>
        <a href={historyHref({ target: name, action: "job" })}>Who did what to it</a>
      </dd>
    </dl>
  );
}

/** When it runs: in words, as it is written, and what happens when a tick cannot be kept. */
function When({ schedule }: { schedule: Schedule }) {
  const { jitter = "0s", overlap, missed, catchUp, from, until } = schedule;
  // Any other expression stands as it is written already.
  const inWords = cronsOf(schedule).filter((cron) => cronWords(cron) !== cron.trim());
  return (
    <>
      {scheduleWords(schedule)} {inWords.length > 0 && <code>{inWords.join("; ")} </code>}
      <small>
        {jitter !== "0s" && `starts spread over ${jitter}; `}
        while an earlier run goes on: {overlap}; missed ticks: {missed}, for {catchUp}
        {from !== undefined && `; from ${utc(from)}`}
        {until !== undefined && `; until ${utc(until)}`}
      </small>
    </>
  );
}

function Params({ params }: { params: readonly [string, JobParam][] }) {
  if (params.length === 0) return null;
  return (
    <>
      <h2>Parameters</h2>
      <Scroll label="Parameters">
        <table>
          <Heads of={["Name", "Type", "Default", "Rules", "What it is for"]} />
          <tbody>
            {params.map(([name, param]) => (
              <tr key={name}>
                <td>
                  <code>{name}</code>
                </td>
                <td>{param.type}</td>
                <td>
                  <Default param={param} />
                </td>
                <td>{rulesOf(param).join("; ") || <span class="none">–</span>}</td>
                <td>{param.description}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function Default({ param }: { param: JobParam }) {
  if (param.required === true) return <>none: each run must be given it</>;
  if (param.default === undefined) return <span class="none">empty</span>;
  return <code>{String(param.default)}</code>;
}
