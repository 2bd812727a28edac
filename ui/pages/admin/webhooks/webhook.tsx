// One webhook: its state and why, what it receives, what to do about it, and its deliveries.
import type { Signal } from "@preact/signals";
import type { Webhook } from "../../../../src/generated/api.ts";
import { Actions } from "../../../parts/acts/act.tsx";
import type { Shown } from "../../../parts/once.tsx";
import { Nothing } from "../../../parts/problem.tsx";
import { Moment } from "../../../parts/time.tsx";
import { historyHref } from "../../events/filter.ts";
import { Foreign, isOwn, nameOf } from "../own.tsx";
import { actionsOf } from "./actions.tsx";
import { Deliveries } from "./deliveries.tsx";
import { WebhookStateMark } from "./marks.tsx";

interface OneProps {
  name: string;
  items: readonly Webhook[];
  once: Signal<Shown | undefined>;
  again: () => void;
}

/** A webhook by the name that the address has. */
export function OneWebhook({ name, items, once, again }: OneProps) {
  const webhook = items.find((one) => nameOf(one) === name);
  if (webhook === undefined)
    return <Nothing why={`There is no webhook ${name}. It may have been deleted.`} />;
  return (
    <>
      <h1>
        Webhook <span class="name">{name}</span>
      </h1>
      <p>
        <WebhookStateMark state={webhook.state} />
      </p>
      <Why webhook={webhook} />
      <Facts webhook={webhook} />
      {isOwn(webhook) ? (
        <>
          <Actions actions={actionsOf(webhook, once, again)} />
          <p>
            <a href={historyHref({ target: webhook.id, action: "webhook" })}>Who changed it</a>
          </p>
          <Deliveries name={webhook.name} />
        </>
      ) : (
        <Foreign {...webhook} />
      )}
    </>
  );
}

/** Why it is in its state, and what it lacks. */
function Why({ webhook }: { webhook: Webhook }) {
  const reasons = reasonsOf(webhook);
  if (reasons.length === 0) return null;
  return (
    <section class="why" aria-label="Why">
      {reasons.map(({ of, text, at }) => (
        <p key={of}>
          {text} {at !== null && <Moment at={at} />}
        </p>
      ))}
    </section>
  );
}

/** A reason, and the time with which its text ends. */
interface Reason {
  of: string;
  text: string;
  at: string | null;
}

function reasonsOf(webhook: Webhook): Reason[] {
  const { disabled, failing, unsigned, unknown, pausedUntil, gap, behind } = webhook;
  const reasons: (Reason | undefined)[] = [
    disabled === null
      ? undefined
      : { of: "disabled", text: `${disabled.text}. Disabled by ${disabled.by ?? "Drover"}`, at: disabled.at },
    failing === null
      ? undefined
      : {
          of: "failing",
          text: `${failing.text}. Attempts in a row that failed: ${failing.failures}, since`,
          at: failing.since,
        },
    unsigned === null
      ? undefined
      : { of: "unsigned", text: `${unsigned.text}. The secret is tried again`, at: unsigned.nextAt },
    unknown === null ? undefined : { of: "unknown", text: unknown.text, at: null },
    pausedUntil === null
      ? undefined
      : { of: "paused", text: "The receiver has asked for a pause. The next try is", at: pausedUntil },
    gap === null
      ? undefined
      : {
          of: "gap",
          text: `At most ${gap.runs} ends are never sent: their runs were deleted. Latest:`,
          at: gap.at,
        },
    behind.length === 0
      ? undefined
      : { of: "behind", text: `It has not read all news of these pools yet: ${behind.join(", ")}`, at: null },
  ];
  return reasons.filter((reason) => reason !== undefined);
}

function Facts({ webhook }: { webhook: Webhook }) {
  const { url, types, pools, labels, waiting, createdAt, createdBy, oldSecretUntil } = webhook;
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return (
    <dl class="facts each">
      <dt>Receiver</dt>
      <dd>{url}</dd>
      <dt>Events</dt>
      <dd>{types.join(" ")}</dd>
      <dt>Pools</dt>
      <dd>{pools?.join(" ") ?? "all"}</dd>
      <dt>Labels</dt>
      <dd>{pairs.join(" ") || "any"}</dd>
      <dt>Waiting</dt>
      <dd>{waiting ?? "unknown"}</dd>
      <dt>Made</dt>
      <dd>
        <Moment at={createdAt} /> by {createdBy}
      </dd>
      <dt>Old secret signs until</dt>
      <dd>
        <Moment at={oldSecretUntil} />
      </dd>
    </dl>
  );
}
