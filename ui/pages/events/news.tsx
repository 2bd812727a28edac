// What came since the list was asked for? It is counted, and shown when the reader wants it: nothing moves.
import { ask } from "../../api/send.ts";
import { useLoad } from "../../store/load.ts";
import { hasText } from "./entry.ts";
import { type Filter, queryFor } from "./filter.ts";

/** Each look asks the registry and all pools: no more often than lists ask that follow no stream. */
const EVERY_MS = 10_000;

/** A button with the number of new entries. `follow`: from the list's answer. `show` asks for it anew. */
export function News({ filter, follow, show }: { filter: Filter; follow: string; show: () => void }) {
  const { cursor, until, text } = filter;
  // Older pages, and ranges that have ended, get nothing new.
  const isOpen = cursor === "" && until === "";
  const news = useLoad({
    key: isOpen ? follow : undefined,
    everyMs: EVERY_MS,
    ask: (signal) => {
      // What is new came after the beginning of the range, too.
      const query = queryFor({ ...filter, since: "" }, Date.now());
      return ask("listAudit", { query: { ...query, after: follow } }, signal);
    },
  });
  const items = news.isStale ? [] : (news.value?.items ?? []);
  const found = items.filter((entry) => text === "" || hasText(entry, text));
  return (
    <p role="status">
      {found.length > 0 && (
        <button type="button" onClick={show}>
          Show {found.length} new {found.length === 1 ? "entry" : "entries"}
        </button>
      )}
    </p>
  );
}
