// Who did what to which run, worker or pool? The audit log, 50 entries at a time (ui.md#d11).
import type { AuditEntry } from "../../../src/generated/api.ts";
import { ask } from "../../api/send.ts";
import { session } from "../../api/session.ts";
import { Parts } from "../../parts/lists/cursor.tsx";
import { Silent } from "../../parts/lists/silent.tsx";
import { Nothing, Settled, Trouble } from "../../parts/problem.tsx";
import { itemHref } from "../../router/place.ts";
import { droverNow } from "../../store/clock.ts";
import { useLoad } from "../../store/load.ts";
import { hasText } from "./entry.ts";
import { type Filter, filterOf, isFiltered, queryFor } from "./filter.ts";
import { Filters } from "./filters.tsx";
import { News } from "./news.tsx";
import { EntryTable } from "./table.tsx";

/** How many rows a list has. */
const PAGE = 50;

/** The page `/ui/events`. */
export function Events() {
  const filter = filterOf();
  const { text, ...asked } = filter;
  const list = useLoad({
    key: JSON.stringify(asked),
    ask: (signal) => ask("listAudit", { query: { ...queryFor(filter, droverNow()), limit: PAGE } }, signal),
  });
  return (
    <>
      <h1>Events</h1>
      <Filters filter={filter} />
      <Unseen />
      <Trouble error={list.error} again={list.again} />
      <Settled isStale={list.isStale}>
        {list.value && (
          <>
            {!list.isStale && <News filter={filter} follow={list.value.follow} show={list.again} />}
            <Silent what="Entries" service={list.value.service} />
            <Entries items={list.value.items} filter={filter} />
            <Parts cursor={filter.cursor} next={list.value.next} />
          </>
        )}
      </Settled>
      {filter.run !== "" && (
        <p>
          What happened to the run itself:{" "}
          <a href={`${itemHref("runs", filter.run)}?tab=events`}>its events</a>.
        </p>
      )}
    </>
  );
}

function Entries({ items, filter }: { items: readonly AuditEntry[]; filter: Filter }) {
  const { text } = filter;
  const shown = text === "" ? items : items.filter((entry) => hasText(entry, text));
  return (
    <>
      {text !== "" && (
        <p role="status">
          {shown.length} of the {items.length} entries of this page have the text. The text is looked for on
          one page at a time; the other filters look through the whole log.
        </p>
      )}
      {items.length === 0 && <Empty filter={filter} />}
      {shown.length > 0 && <EntryTable items={shown} />}
    </>
  );
}

const NONE_LIKE_THIS =
  "No entry is like this. Entries are kept for 90 days; choose a deleted pool by its name to see its own.";

function Empty({ filter }: { filter: Filter }) {
  return isFiltered(filter) ? (
    <Nothing why={NONE_LIKE_THIS} />
  ) : (
    <Nothing why="Nobody has done anything yet." type="drover run -- echo hello" />
  );
}

/** What the reader's token cannot see, said and not left out silently. */
function Unseen() {
  const signedIn = session.value;
  if (signedIn.is !== "in") return null;
  const { project, limits } = signedIn.caller;
  return (
    <>
      {limits.pools !== undefined && (
        <p>
          Your token is limited to {limits.pools.join(", ")}: entries about other pools, and those that
          concern no pool, about tokens and secrets for one, are not shown.
        </p>
      )}
      {project !== null && <p>Entries of other projects than {project} are not shown.</p>}
    </>
  );
}
