// The list of runs: 50 at a time, filtered by what the address says (ui.md#d11, ui.md#d15).
import { useRef } from "preact/hooks";
import { type AnswerOf, ask } from "../../api/send.ts";
import { Actions } from "../../parts/acts/act.tsx";
import { Parts } from "../../parts/lists/cursor.tsx";
import { Silent } from "../../parts/lists/silent.tsx";
import { Nothing, Settled, Trouble } from "../../parts/problem.tsx";
import { go, queryOf, withQuery } from "../../router/place.ts";
import { runs } from "../../store/entities.ts";
import { changes } from "../../store/live.ts";
import { useLoad } from "../../store/load.ts";
import { useChosenPool } from "../../store/pools.ts";
import { useRate } from "../../store/rate.ts";
import { Bulk } from "./bulk/bulk.tsx";
import { Density } from "./density.tsx";
import { type Filter, filterOf, isFiltered, queryFor } from "./filter.ts";
import { Filters } from "./filters.tsx";
import { Groups } from "./groups.tsx";
import { abortAll } from "./labels/abort-all.ts";
import { wantedLabels } from "./labels/wanted-labels.ts";
import { selectionOf } from "./selection.ts";
import { RunTable } from "./table.tsx";

/** How many rows a list has. */
const PAGE = 50;

/** The page `/ui/runs`. */
export function Runs() {
  const { everyMs } = useChosenPool();
  const version = useRate(changes.runs);
  const filter = filterOf();
  const group = queryOf("group");
  const wanted = wantedLabels(filter.labels);
  const query = { ...queryFor(filter), limit: PAGE };
  const list = useLoad({
    key: JSON.stringify(query),
    version,
    everyMs,
    ask: (signal) => runs.ask(() => ask("listRuns", { query }, signal)),
  });
  const hasAny = useHasHadAny(JSON.stringify(queryFor({ ...filter, cursor: "" })), list.value);
  return (
    <>
      <h1>Runs</h1>
      <Filters filter={filter} />
      <div class="filters">
        <GroupBy name={group} />
        <Density />
      </div>
      {wanted !== undefined && hasAny && <Actions actions={[abortAll(wanted, filter, list.again)]} />}
      <Trouble error={list.error} again={list.again} />
      <Settled isStale={list.isStale}>
        {list.value !== undefined && <Silent what="Runs" service={list.value.service} />}
        {list.value !== undefined && <List list={list.value} filter={filter} again={list.again} />}
        <Parts cursor={filter.cursor} next={list.value?.next ?? null} />
      </Settled>
    </>
  );
}

/**
 * Whether the list of this filter has had a run since it is shown: what ends all of them must not go away on
 * its way with the last one.
 */
function useHasHadAny(filter: string, list: AnswerOf<"listRuns"> | undefined): boolean {
  const had = useRef("");
  if (list !== undefined && (list.items.length > 0 || list.next !== null)) had.current = filter;
  return had.current === filter;
}

/**
 * The rows, what is selected of them, and their groups if somebody wants these. What is done to the selection
 * goes on when the last row has gone.
 */
function List(props: { list: AnswerOf<"listRuns">; filter: Filter; again: () => void }) {
  const { list, filter, again } = props;
  const selection = selectionOf();
  const group = queryOf("group");
  const items = list.items.map((run) => runs.get(run.id) ?? run);
  const shown = { ids: items.map(({ id }) => id) };
  const isAll = list.next === null && filter.cursor === "";
  return (
    <>
      {group !== "" && <Groups runs={items} name={group} labels={filter.labels} isAll={isAll} />}
      <Bulk selection={selection} shown={shown} again={again} />
      {items.length > 0 ? <RunTable items={list.items} selection={selection} /> : <Empty filter={filter} />}
    </>
  );
}

function GroupBy({ name }: { name: string }) {
  return (
    <form
      class="actions"
      onSubmit={(event) => {
        event.preventDefault();
        go(withQuery({ group: String(new FormData(event.currentTarget).get("group") ?? "").trim() }));
      }}
    >
      <label>
        Group by label <input key={name} name="group" defaultValue={name} placeholder="name" size={8} />
      </label>
      <button type="submit">Group</button>
    </form>
  );
}

function Empty({ filter }: { filter: Filter }) {
  return isFiltered(filter) ? (
    <Nothing
      why={
        "No run is like this. A text is looked for in ids and in the first 80 characters of commands, and " +
        "not in output. Runs that ended long ago are not kept."
      }
    />
  ) : (
    <Nothing why="There is no run yet." type="drover run -- echo hello" />
  );
}
