// The webhooks: a list with the state and the latest delivery of each, or the one that the address names.
import type { Webhook } from "../../../../src/generated/api.ts";
import { ask } from "../../../api/send.ts";
import { Actions } from "../../../parts/acts/act.tsx";
import { Pages, pageOf } from "../../../parts/lists/pages.tsx";
import { Scroll } from "../../../parts/lists/scroll.tsx";
import { Heads } from "../../../parts/lists/table.tsx";
import { Once, useOnce } from "../../../parts/once.tsx";
import { Nothing, Settled, Trouble } from "../../../parts/problem.tsx";
import { Moment } from "../../../parts/time.tsx";
import { adminHref } from "../../../router/admin.ts";
import { queryOf } from "../../../router/place.ts";
import { isSettled, useLoad } from "../../../store/load.ts";
import { isOwn, nameOf } from "../own.tsx";
import { creationOf } from "./actions.tsx";
import { DeliveryStateMark, WebhookStateMark } from "./marks.tsx";
import { OneWebhook } from "./webhook.tsx";

/** What waits is tried again after seconds. */
const EVERY_MS = 5_000;

/** The part `/ui/admin/webhooks`. */
export function Webhooks() {
  const name = queryOf("webhook");
  const once = useOnce();
  const list = useLoad({
    key: "webhooks",
    everyMs: EVERY_MS,
    ask: (signal) => ask("listWebhooks", {}, signal),
  });
  const items = list.value?.items ?? [];
  return (
    <>
      {name === "" && <h1>Webhooks</h1>}
      <Trouble error={list.error} again={list.again} />
      <Once once={once} />
      {list.value && (
        <Settled isStale={list.isStale}>
          {name === "" ? (
            <List items={items} />
          ) : (
            <OneWebhook name={name} items={items} once={once} again={list.again} />
          )}
        </Settled>
      )}
      {name === "" && isSettled(list) && <Actions actions={[creationOf(once, list.again)]} />}
    </>
  );
}

function List({ items }: { items: readonly Webhook[] }) {
  if (items.length === 0) {
    return (
      <Nothing
        why="There is no webhook yet. One tells a receiver of yours how runs end."
        type="drover webhooks create --name ci https://ci.example.com/hook"
      />
    );
  }
  return (
    <>
      <Scroll label="Webhooks">
        <table>
          <Heads of={["State", "Webhook", "Receiver", "Events", "Waiting", "Latest delivery"]} />
          <tbody>
            {pageOf(items).map((webhook) => (
              <tr key={nameOf(webhook)}>
                <td>
                  <WebhookStateMark state={webhook.state} />
                </td>
                <td>
                  <a href={adminHref("webhooks", nameOf(webhook))}>{nameOf(webhook)}</a>
                </td>
                <td>{webhook.url}</td>
                <td>{webhook.types.join(" ")}</td>
                <td>{webhook.waiting ?? "unknown"}</td>
                <td>
                  <Latest webhook={webhook} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <Pages count={items.length} label="Pages of the list" />
    </>
  );
}

/** A delivery that changes nothing at its webhook is seen this late. */
const LATEST_EVERY_MS = 60_000;

/** The latest delivery of a webhook. Each row asks, so a row asks again when its webhook is another. */
function Latest({ webhook }: { webhook: Webhook }) {
  const { name } = webhook;
  const list = useLoad({
    key: isOwn(webhook) ? JSON.stringify(webhook) : undefined,
    everyMs: LATEST_EVERY_MS,
    ask: (signal) => ask("listDeliveries", { path: { name }, query: { limit: 1 } }, signal),
  });
  const [latest] = list.value?.items ?? [];
  if (list.error !== undefined) return <>unknown</>;
  if (latest === undefined) return <span class="none">none</span>;
  return (
    <>
      <DeliveryStateMark state={latest.state} /> <Moment at={latest.last?.at ?? latest.createdAt} />
      {latest.last !== null && `, ${latest.last.status ?? "no answer"}`}
    </>
  );
}
