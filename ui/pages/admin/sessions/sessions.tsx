// The browser sessions: who is signed in, since when, and the one that the address names (sessions.md).
import type { Session } from "../../../../src/generated/api.ts";
import { ask } from "../../../api/send.ts";
import { session as reader } from "../../../api/session.ts";
import { Actions } from "../../../parts/acts/act.tsx";
import { Pages, pageOf } from "../../../parts/lists/pages.tsx";
import { Scroll } from "../../../parts/lists/scroll.tsx";
import { Heads } from "../../../parts/lists/table.tsx";
import { Nothing, Settled, Trouble } from "../../../parts/problem.tsx";
import { Moment } from "../../../parts/time.tsx";
import { adminHref } from "../../../router/admin.ts";
import { queryOf } from "../../../router/place.ts";
import { useLoad } from "../../../store/load.ts";
import { historyHref } from "../../events/filter.ts";
import { endingOf } from "./actions.ts";

/** Browsers come and go seldom; a last use is known to the hour. */
const EVERY_MS = 30_000;

/** The part `/ui/admin/sessions`. */
export function Sessions() {
  const id = queryOf("session");
  const list = useLoad({
    key: "sessions",
    everyMs: EVERY_MS,
    ask: (signal) => ask("listSessions", {}, signal),
  });
  const items = list.value?.items ?? [];
  return (
    <>
      {id === "" && <h1>Browser sessions</h1>}
      <Trouble error={list.error} again={list.again} />
      {list.value && (
        <Settled isStale={list.isStale}>
          {id === "" ? <List items={items} /> : <One id={id} items={items} again={list.again} />}
        </Settled>
      )}
    </>
  );
}

function List({ items }: { items: readonly Session[] }) {
  if (items.length === 0) return <Nothing why="No browser is signed in." type="drover ui" />;
  return (
    <>
      <Table sessions={pageOf(items)} />
      <Pages count={items.length} label="Pages of the list" />
    </>
  );
}

function Table({ sessions }: { sessions: readonly Session[] }) {
  return (
    <Scroll label="Browser sessions">
      <table>
        <Heads of={["Session", "Acts for", "Since", "Last use", "Ends, if not used"]} />
        <tbody>
          {sessions.map(({ id, token, name, startedAt, lastUsedAt, expiresAt }) => (
            <tr key={id}>
              <td>
                <a href={adminHref("sessions", id)}>{id}</a>
              </td>
              <td>
                {token === null ? (
                  "the secret of this Drover"
                ) : (
                  <a href={adminHref("tokens", token)}>{name}</a>
                )}
              </td>
              <td>
                <Moment at={startedAt} />
              </td>
              <td>
                <Moment at={lastUsedAt} />
              </td>
              <td>
                <Moment at={expiresAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

interface OneProps {
  id: string;
  items: readonly Session[];
  again: () => void;
}

function One({ id, items, again }: OneProps) {
  const session = items.find((one) => one.id === id);
  if (session === undefined)
    return <Nothing why={`There is no session ${id}. It has ended, or its time is over.`} />;
  return (
    <>
      <h1>
        Session <span class="name">{id}</span>
      </h1>
      <Table sessions={[session]} />
      <Actions actions={[endingOf(session, isOwn(session), again)]} />
      <p>
        <a href={historyHref({ target: id })}>How it began</a>
      </p>
    </>
  );
}

/** Whether the reader acts for the same token. No route says which session a request belongs to. */
function isOwn({ name }: Session): boolean {
  const now = reader.value;
  return now.is === "in" && now.caller.by.slice("session:".length) === name;
}
