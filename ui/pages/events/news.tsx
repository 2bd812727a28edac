// What came since the list was asked for? It is counted, and shown when the reader wants it: nothing moves.
import { useRef } from "preact/hooks";
import type { AuditEntry } from "../../../src/generated/api.ts";
import { ask } from "../../api/send.ts";
import { droverNow } from "../../store/clock.ts";
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
  /** How far this list's news have been read, and what they are. */
  const read = useRef<{ list: string; follow: string; items: AuditEntry[] }>({ list: "", follow, items: [] });
  const news = useLoad({
    key: isOpen ? follow : undefined,
    everyMs: EVERY_MS,
    ask: async (signal) => {
      if (read.current.list !== follow) read.current = { list: follow, follow, items: [] };
      const before = read.current;
      // What is new came after the beginning of the range, too.
      const query = { ...queryFor({ ...filter, since: "" }, droverNow()), after: before.follow };
      const { items, follow: next } = await ask("listAudit", { query }, signal);
      read.current = { list: follow, follow: next, items: [...before.items, ...items] };
      return read.current.items;
    },
  });
  const items = news.isStale ? [] : (news.value ?? []);
  const count = items.filter((entry) => text === "" || hasText(entry, text)).length;
  return (
    <p role="status">
      {count > 0 && (
        <button type="button" onClick={show}>
          Show {count} new {count === 1 ? "entry" : "entries"}
        </button>
      )}
    </p>
  );
}
