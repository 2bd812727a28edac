// The page of one job: what it runs and when, what came of its ticks, its versions, and what to do.
import type { Job as JobView } from "../../../src/generated/api.ts";
import { DEFAULT_PROJECT } from "../../../src/shared/access/project.ts";
import { ask } from "../../api/send.ts";
import { Actions } from "../../parts/acts/act.tsx";
import { Long } from "../../parts/lists/scroll.tsx";
import { Settled, Trouble } from "../../parts/problem.tsx";
import { Mark } from "../../parts/state.tsx";
import { Moment } from "../../parts/time.tsx";
import { queryOf, withQuery } from "../../router/place.ts";
import { useLoad } from "../../store/load.ts";
import { useFollowed } from "../../store/pools.ts";
import { Foreign, isOwn, nameOf, ownProject } from "../admin/own.tsx";
import { actionsOf } from "./actions.tsx";
import { fieldsOf } from "./fields.ts";
import { Summary } from "./summary.tsx";
import { Versions } from "./versions.tsx";

const TABS = ["summary", "versions", "spec"] as const;

/** Ticks come, and are skipped, without a change of a run. */
const EVERY_MS = 5_000;

/** The page `/ui/jobs/{name}`; a job of another project is `{project}/{name}` there. */
export function Job({ item = "" }: { item: string | undefined }) {
  const named = namedIn(item);
  if (isOwn(named)) return <Own name={named.name} />;
  return (
    <>
      <h1 class="name">{nameOf(named)}</h1>
      <Foreign {...named} />
    </>
  );
}

/** The project and the name that an address has. */
function namedIn(item: string): { project: string; name: string } {
  const [first = "", name] = item.split("/");
  return name === undefined
    ? { project: ownProject() ?? DEFAULT_PROJECT, name: first }
    : { project: first, name };
}

function Own({ name }: { name: string }) {
  const loaded = useLoad({
    key: name,
    everyMs: EVERY_MS,
    ask: (signal) => ask("getJob", { path: { name } }, signal),
  });
  const job = loaded.value;
  useFollowed(job?.pool);
  return (
    <>
      <h1 class="name">{name}</h1>
      <Trouble error={loaded.error} again={loaded.again} />
      {job !== undefined && (
        <Settled isStale={loaded.isStale}>
          <Paused job={job} />
          {job.description && <p>{job.description}</p>}
          <Actions actions={actionsOf(job, loaded.again)} />
          <Tabs job={job} />
        </Settled>
      )}
    </>
  );
}

/** Since when nothing runs by itself, and what changes that (ui.md#d16). */
function Paused({ job: { paused } }: { job: JobView }) {
  if (paused === null) return null;
  return (
    <section class="why" aria-label="Why it does not run by itself">
      <p>
        <Mark icon="stop" tone="waits" word="paused" /> <Moment at={paused.at} /> by {paused.by}. Its ticks
        are skipped until it is resumed.
      </p>
    </section>
  );
}

function Tabs({ job }: { job: JobView }) {
  const tab = TABS.find((one) => one === queryOf("tab")) ?? "summary";
  return (
    <>
      <nav class="tabs" aria-label="Parts of the job">
        {TABS.map((one) => (
          <a
            key={one}
            href={withQuery({ tab: one, version: undefined })}
            aria-current={one === tab ? "page" : undefined}
          >
            {one}
          </a>
        ))}
      </nav>
      {tab === "summary" && <Summary job={job} />}
      {tab === "versions" && <Versions name={job.name} version={job.version} />}
      {tab === "spec" && <Long label="The job as stored" text={JSON.stringify(fieldsOf(job), null, 2)} />}
    </>
  );
}
