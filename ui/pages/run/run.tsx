// The page of one run: what it is, why, what comes next, its tasks, its output, its cost, and what to do.
import { useRef } from "preact/hooks";
import type { RunStatus } from "../../../src/generated/api.ts";
import { hasFailed, isTerminal } from "../../../src/shared/run-state.ts";
import { ask } from "../../api/send.ts";
import { Actions } from "../../parts/acts/act.tsx";
import { later } from "../../parts/later.tsx";
import { Long } from "../../parts/lists/scroll.tsx";
import { Settled, Trouble } from "../../parts/problem.tsx";
import { queryOf, withQuery } from "../../router/place.ts";
import { runs } from "../../store/entities.ts";
import { begun } from "../../store/live.ts";
import { useLoad } from "../../store/load.ts";
import { useFollowed } from "../../store/pools.ts";
import { actionsOf } from "./actions.ts";
import { isBootOver, withBoot } from "./boot.ts";
import { Events } from "./events.tsx";
import { Head } from "./head.tsx";
import { InList } from "./in-list.tsx";
import { Summary } from "./summary.tsx";

/** Most of what this page loads, which a run that is read without its output does not need (ui.md#size). */
const LogView = later(async () => (await import("../../log/view.tsx")).LogView);

const TABS = ["summary", "log", "events", "spec"] as const;
type Tab = (typeof TABS)[number];

/** The page `/ui/runs/{id}`. */
export function Run({ item: id = "" }: { item: string | undefined }) {
  // A change of the run in its pool has a higher version than what is shown.
  const version = (runs.get(id)?.version ?? 0) + begun.value;
  const showsBoot = useShowsBoot(id);
  const latest = useRef<RunStatus>(undefined);
  const loaded = useLoad({
    key: showsBoot ? `${id} boot` : id,
    version,
    ask: async (signal) => {
      const before = latest.current?.id === id ? latest.current : undefined;
      const isKnown = before !== undefined && isBootOver(before);
      const query = showsBoot && !isKnown ? { include: "boot" as const } : {};
      latest.current = withBoot(await ask("getRun", { path: { id }, query }, signal), before);
      return latest.current;
    },
    isLast: ({ state }) => isTerminal(state),
  });
  const run = loaded.value;
  // Nothing of an ended run changes any more (ui.md#d13).
  useFollowed(run === undefined || isTerminal(run.state) ? undefined : run.pool);
  return (
    <>
      <InList id={id} />
      <h1 class="name">{id}</h1>
      <Trouble error={loaded.error} again={loaded.again} />
      {run !== undefined && (
        <Settled isStale={loaded.isStale}>
          <Head run={run} />
          <Actions actions={actionsOf(run, loaded.again)} />
          <Tabs run={run} again={loaded.again} />
        </Settled>
      )}
    </>
  );
}

/** Whether the summary, which shows the boot of the machine, was shown of this run, or may be. */
function useShowsBoot(id: string): boolean {
  const shown = useRef("");
  if (["", "summary"].includes(queryOf("tab"))) shown.current = id;
  return shown.current === id;
}

function Tabs({ run, again }: { run: RunStatus; again: () => void }) {
  const atFirst = useRef<Tab>(undefined);
  const wasPending = useRef(run.state === "pending");
  // Who waited for the start has it followed. What a run does later moves nobody to another tab.
  if (wasPending.current && run.state !== "pending") atFirst.current = undefined;
  wasPending.current = run.state === "pending";
  atFirst.current ??= firstTab(run);
  const tab = TABS.find((one) => one === queryOf("tab")) ?? atFirst.current;
  return (
    <>
      <nav class="tabs" aria-label="Parts of the run">
        {TABS.map((one) => (
          <a key={one} href={withQuery({ tab: one })} aria-current={one === tab ? "page" : undefined}>
            {one}
          </a>
        ))}
      </nav>
      {tab === "summary" && <Summary run={run} />}
      {tab === "log" && <LogView run={run} onNext={again} />}
      {tab === "events" && <Events id={run.id} version={run.version} />}
      {tab === "spec" && <Long label="The spec as submitted" text={JSON.stringify(run.spec, null, 2)} />}
    </>
  );
}

/** The tab that answers what a reader asks first (ui.md#d1). */
function firstTab(run: RunStatus): Tab {
  const hasOutput = run.startedAt !== null;
  return hasOutput && (run.state === "running" || hasFailed(run)) ? "log" : "summary";
}
