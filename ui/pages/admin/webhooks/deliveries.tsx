// The deliveries of a webhook, latest first, and the one that the address chooses (webhooks.md#deliveries).

import type { WebhookDelivery } from "../../../../src/generated/api.ts";
import { DELIVERY_STATES } from "../../../../src/shared/webhooks/words.ts";
import { ask, type InputOf } from "../../../api/send.ts";
import { Actions } from "../../../parts/acts/act.tsx";
import { Parts } from "../../../parts/lists/cursor.tsx";
import { Long, Scroll } from "../../../parts/lists/scroll.tsx";
import { Heads } from "../../../parts/lists/table.tsx";
import { Settled, Trouble } from "../../../parts/problem.tsx";
import { Moment } from "../../../parts/time.tsx";
import { go, itemHref, queryOf, withQuery } from "../../../router/place.ts";
import { useLoad } from "../../../store/load.ts";
import { replayOf, replayRangeOf } from "./actions.tsx";
import { DeliveryStateMark } from "./marks.tsx";

const PAGE = 50;
/** What waits is tried again after seconds. */
const EVERY_MS = 5_000;

type Query = NonNullable<InputOf<"listDeliveries">["query"]>;

/** The deliveries of an endpoint of the reader's project. */
export function Deliveries({ name }: { name: string }) {
  const state = queryOf("state");
  const cursor = queryOf("cursor");
  const query: Query = { limit: PAGE, cursor: cursor || undefined };
  // The server refuses a word that is no state, and says which words there are.
  if (state !== "") query.state = [state] as Query["state"];
  const list = useLoad({
    key: `${name} ${JSON.stringify(query)}`,
    everyMs: EVERY_MS,
    ask: (signal) => ask("listDeliveries", { path: { name }, query }, signal),
  });
  const { items = [], next = null } = list.value ?? {};
  return (
    <>
      <h2>Deliveries</h2>
      <States state={state} />
      <Trouble error={list.error} again={list.again} />
      <Actions actions={[replayRangeOf(name, list.again)]} />
      {list.value && (
        <Settled isStale={list.isStale}>
          <Chosen name={name} items={items} again={list.again} />
          {items.length === 0 ? <p>None. They are listed for 30 days.</p> : <Table items={items} />}
          <Parts cursor={cursor} next={next} />
        </Settled>
      )}
    </>
  );
}

function States({ state }: { state: string }) {
  return (
    <div class="filters">
      <label>
        State{" "}
        <select
          value={state}
          onChange={(event) => go(withQuery({ state: event.currentTarget.value, cursor: undefined }))}
        >
          <option value="">all</option>
          {DELIVERY_STATES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Table({ items }: { items: readonly WebhookDelivery[] }) {
  const chosen = queryOf("delivery");
  return (
    <Scroll label="Deliveries">
      <table>
        <Heads of={["State", "Delivery", "Event", "Run", "Made", "Attempts", "Latest answer", "Next"]} />
        <tbody>
          {items.map(({ id, state, type, run, createdAt, tries, last, nextAt }) => (
            <tr key={id}>
              <td>
                <DeliveryStateMark state={state} />
              </td>
              <td>
                <a href={withQuery({ delivery: id })} aria-current={id === chosen ? "true" : undefined}>
                  {id}
                </a>
              </td>
              <td>{type}</td>
              <td>
                {run === null ? <span class="none">–</span> : <a href={itemHref("runs", run)}>{run}</a>}
              </td>
              <td>
                <Moment at={createdAt} />
              </td>
              <td>{tries}</td>
              <td>
                <LatestAnswer last={last} />
              </td>
              <td>
                <Moment at={nextAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** What came of the latest attempt: what went wrong says the status, too. */
function LatestAnswer({ last }: Pick<WebhookDelivery, "last">) {
  if (last === null) return <span class="none">–</span>;
  return <>{last.problem ?? last.status ?? "none"}</>;
}

function Chosen(props: { name: string; items: readonly WebhookDelivery[]; again: () => void }) {
  const { name, items, again } = props;
  const id = queryOf("delivery");
  if (id === "") return null;
  const delivery = items.find((one) => one.id === id);
  return (
    <section class="why" aria-label={`Delivery ${id}`}>
      <h3 class="name">{id}</h3>
      {delivery === undefined ? (
        <p>It is not in this part of the list: choose another state or page.</p>
      ) : (
        <>
          <LastAttempt delivery={delivery} />
          <Actions actions={[replayOf(name, delivery, again)]} />
        </>
      )}
      <a href={withQuery({ delivery: undefined })}>Close</a>
    </section>
  );
}

function LastAttempt({ delivery: { state, tries, last, nextAt } }: { delivery: WebhookDelivery }) {
  if (last === null)
    return <p>Nothing was sent yet. Next: {nextAt === null ? "–" : <Moment at={nextAt} />}</p>;
  return (
    <>
      <p>
        <DeliveryStateMark state={state} /> after {tries} {tries === 1 ? "attempt" : "attempts"}. Latest{" "}
        <Moment at={last.at} />: {last.status === null ? "no answer" : `status ${last.status}`} after{" "}
        {last.durationMs} ms.
        {nextAt !== null && (
          <>
            {" "}
            Next: <Moment at={nextAt} />
          </>
        )}
      </p>
      {last.problem !== null && <p>{last.problem}</p>}
      {last.answer !== null && last.answer !== "" && (
        <Long label="What the receiver answered" text={last.answer} />
      )}
    </>
  );
}
