// The list of jobs: what they run on, when they run by themselves, and which is the next time.
import type { JobSummary } from "../../../src/generated/api.ts";
import { ask } from "../../api/send.ts";
import { Pages, pageOf } from "../../parts/lists/pages.tsx";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { Nothing, Settled, Trouble } from "../../parts/problem.tsx";
import { Mark } from "../../parts/state.tsx";
import { go, itemHref, queryOf, withQuery } from "../../router/place.ts";
import { useLoad } from "../../store/load.ts";
import { nameOf } from "../admin/own.tsx";
import { matching } from "./matching.ts";
import { TickTime } from "./tick-time.tsx";
import { cronsOf, scheduleWords } from "./words.ts";

/** One request for all jobs, whose next ticks change when they have come. */
const EVERY_MS = 10_000;

/** The page `/ui/jobs`. */
export function Jobs() {
  const filter = { text: queryOf("q"), pool: queryOf("pool") };
  const list = useLoad({ key: "jobs", everyMs: EVERY_MS, ask: (signal) => ask("listJobs", {}, signal) });
  const all = list.value?.items ?? [];
  const items = matching(all, filter);
  return (
    <>
      <h1>Jobs</h1>
      <Filters text={filter.text} />
      <Trouble error={list.error} again={list.again} />
      <Settled isStale={list.isStale}>
        {items.length > 0 && <Table items={pageOf(items)} />}
        {list.value !== undefined && items.length === 0 && <Empty isFiltered={all.length > 0} />}
        <Pages count={items.length} label="Pages of the list" />
      </Settled>
    </>
  );
}

function Filters({ text }: { text: string }) {
  return (
    <search>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          const q = String(new FormData(event.currentTarget).get("q") ?? "").trim();
          go(withQuery({ q, page: undefined }));
        }}
      >
        <label>
          Text <input key={text} name="q" type="search" defaultValue={text} placeholder="name" />
        </label>
        <button type="submit">Filter</button>
      </form>
    </search>
  );
}

function Table({ items }: { items: readonly JobSummary[] }) {
  return (
    <Scroll label="Jobs">
      <table>
        <Heads of={["Job", "Pool", "Schedule", "Next tick", "What it is for"]} />
        <tbody>
          {items.map((job) => (
            <tr key={nameOf(job)}>
              <td>
                <a href={itemHref("jobs", nameOf(job))}>{nameOf(job)}</a>
              </td>
              <td>
                <a href={itemHref("pools", job.pool)}>{job.pool}</a>
              </td>
              <td>
                <ScheduleWords schedule={job.schedule} />
              </td>
              <td>
                <Next job={job} />
              </td>
              <td>{job.description || <span class="none">–</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function ScheduleWords({ schedule }: Pick<JobSummary, "schedule">) {
  if (schedule === null) return <span class="none">only when triggered</span>;
  return <span title={cronsOf(schedule).join("; ")}>{scheduleWords(schedule)}</span>;
}

/** The next tick, or why there is none (ui.md#d16). */
function Next({ job: { paused, schedule, next } }: { job: JobSummary }) {
  if (paused) return <Mark icon="stop" tone="waits" word="paused" />;
  if (schedule === null) return <span class="none">–</span>;
  if (next === null) return <span class="none">none any more</span>;
  return <TickTime tick={next} zone={schedule.zone} />;
}

function Empty({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Nothing why="No job is like this: choose another text or pool." />
  ) : (
    <Nothing
      why="There is no job yet. One runs by its schedule, or when somebody triggers it with values."
      type="drover jobs apply jobs.json"
    />
  );
}
