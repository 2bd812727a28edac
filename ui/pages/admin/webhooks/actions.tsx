// What can a reader do about webhooks and their deliveries (webhooks.md)?
import type { Signal } from "@preact/signals";
import type { NewWebhook, Webhook, WebhookDelivery } from "../../../../src/generated/api.ts";
import { parseDuration } from "../../../../src/shared/duration.ts";
import { callOf } from "../../../api/send.ts";
import type { Action } from "../../../parts/acts/act.tsx";
import { TextField } from "../../../parts/acts/field.tsx";
import { flagsOf, textOf, ticksOf } from "../../../parts/acts/given.ts";
import { droverOf } from "../../../parts/as-text.ts";
import type { Shown } from "../../../parts/once.tsx";
import { go, withQuery } from "../../../router/place.ts";
import { droverNow } from "../../../store/clock.ts";
import { EndpointFields, endpointFlags, endpointOf } from "./endpoint-fields.tsx";

const scope = "webhooks:write";

type Once = Signal<Shown | undefined>;

/** Creates an endpoint, and shows its secret once. */
export function creationOf(once: Once, again: () => void): Action {
  const nameOf = (given: FormData) => textOf(given, "name") ?? "";
  return {
    verb: "Create webhook",
    question: "Create a webhook?",
    effect: "From now on the ends of runs are sent to it, signed. The secret that signs them is shown once.",
    ends: false,
    scope,
    fields: (
      <>
        <TextField label="Name" name="name" required autofocus />
        <EndpointFields />
      </>
    ),
    call: (given) => callOf("createWebhook", { body: { name: nameOf(given), ...endpointOf(given) } }),
    drover: (given) =>
      droverOf("webhooks", "create", "--name", nameOf(given), ...endpointFlags(endpointOf(given))),
    done: (response) => keep(response, once, again),
  };
}

/** The actions that fit the state of an endpoint. `again` asks for all of them anew. */
export function actionsOf(webhook: Webhook, once: Once, again: () => void): Action[] {
  return [
    testOf(webhook),
    changeOf(webhook, again),
    ...(webhook.state === "disabled" ? [] : [disablingOf(webhook, again)]),
    enablingOf(webhook, again),
    rotationOf(webhook, once, again),
    deletionOf(webhook, again),
  ];
}

function testOf({ name }: Webhook): Action {
  return {
    verb: "Test",
    question: `Send a test event to ${name}?`,
    effect:
      "It is sent once and at once, also if the webhook is disabled. The delivery shows what came of it.",
    ends: false,
    scope,
    call: () => callOf("testWebhook", { path: { name } }),
    drover: droverOf("webhooks", "test", name),
    async done(response, ending) {
      // The answer is made by the schema of this route.
      const { id } = (await response.json()) as WebhookDelivery;
      ending.throwIfAborted();
      go(withQuery({ delivery: id, cursor: undefined, state: undefined }));
    },
  };
}

function changeOf(webhook: Webhook, again: () => void): Action {
  const { name } = webhook;
  return {
    verb: "Change",
    question: `Change ${name}?`,
    effect: "Deliveries that wait go to the new address. Its secret stays.",
    ends: false,
    scope,
    fields: <EndpointFields webhook={webhook} />,
    call: (given) => callOf("putWebhook", { path: { name }, body: endpointOf(given) }),
    drover: undefined,
    done: again,
  };
}

function disablingOf({ name, waiting }: Webhook, again: () => void): Action {
  return {
    verb: "Disable",
    question: `Disable ${name}?`,
    effect: `Nothing more is sent until it is enabled. What waits stays: ${waiting ?? "an unknown number"}.`,
    ends: true,
    scope,
    call: () => callOf("disableWebhook", { path: { name } }),
    drover: droverOf("webhooks", "disable", name),
    done: again,
  };
}

function enablingOf({ name, state }: Webhook, again: () => void): Action {
  const fromOf = (given: FormData) => textOf(given, "from");
  return {
    verb: state === "disabled" ? "Enable" : "Try what waits",
    question: state === "disabled" ? `Enable ${name}?` : `Try what waits for ${name} at once?`,
    effect: "It goes on where it stopped, as far as the runs still exist, or from another time.",
    ends: false,
    scope,
    fields: (
      <TextField label="From" name="from" value="last" hint="last, now, or this long ago: 2h" autofocus />
    ),
    call: (given) => callOf("enableWebhook", { path: { name }, body: { from: fromOf(given) } }),
    drover: (given) => droverOf("webhooks", "enable", name, ...flagsOf("--from", [fromOf(given)])),
    done: again,
  };
}

function rotationOf({ name }: Webhook, once: Once, again: () => void): Action {
  const overlapOf = (given: FormData) => textOf(given, "overlap");
  return {
    verb: "Rotate",
    question: `Give ${name} another secret?`,
    effect: "The new one is shown once. For the overlap, the present one signs as well; then it ends.",
    ends: true,
    scope,
    fields: <TextField label="Overlap" name="overlap" value="24h" hint="0s ends it at once" autofocus />,
    call: (given) => callOf("rotateWebhook", { path: { name }, body: { overlap: overlapOf(given) } }),
    drover: (given) => droverOf("webhooks", "rotate", name, ...flagsOf("--overlap", [overlapOf(given)])),
    done: (response) => keep(response, once, again),
  };
}

function deletionOf({ name, waiting }: Webhook, again: () => void): Action {
  return {
    verb: "Delete",
    question: `Delete ${name} for good?`,
    effect: `Its deliveries go with it, also those that wait: ${waiting ?? "an unknown number"}.`,
    ends: true,
    scope,
    call: () => callOf("deleteWebhook", { path: { name } }),
    drover: droverOf("webhooks", "rm", name),
    done() {
      go("/ui/admin/webhooks");
      again();
    },
  };
}

/** Sends one delivery again. */
export function replayOf(name: string, { id, run }: WebhookDelivery, again: () => void): Action {
  return {
    verb: "Replay",
    question: `Send ${id} again?`,
    effect:
      `The receiver of ${name} gets the same bytes under the same id` +
      `${run === null ? "" : `, about the run ${run} as it was then`}, and can tell that it has had them.`,
    ends: false,
    scope,
    call: () => callOf("replayDeliveries", { path: { name }, body: { ids: [id] } }),
    drover: droverOf("webhooks", "replay", name, id),
    done: again,
  };
}

/** Sends the deliveries of a range of time again. */
export function replayRangeOf(name: string, again: () => void): Action {
  const sinceOf = (given: FormData) => textOf(given, "since") ?? "";
  const isAll = (given: FormData) => ticksOf(given, "all").length > 0;
  return {
    verb: "Replay a range",
    question: `Send the deliveries of ${name} since a time again?`,
    effect: "Those that were not delivered are sent again, in steps, with the same ids and bytes.",
    ends: false,
    scope,
    fields: (
      <>
        <TextField label="Made at most this long ago" name="since" value="1h" required autofocus />
        <p>
          <label>
            <input type="checkbox" name="all" value="1" /> Also those that were delivered
          </label>
        </p>
      </>
    ),
    call(given) {
      // The API takes an instant. What is no duration is sent as it is, and refused with the reason.
      const ms = parseDuration(sinceOf(given));
      const since = ms === undefined ? sinceOf(given) : new Date(droverNow() - ms).toISOString();
      return callOf("replayDeliveries", { path: { name }, body: { since, all: isAll(given) } });
    },
    drover: (given) =>
      droverOf("webhooks", "replay", name, "--since", sinceOf(given), ...(isAll(given) ? ["--all"] : [])),
    done: again,
  };
}

async function keep(response: Response, once: Once, again: () => void): Promise<void> {
  // The answer is made by the schema of the route.
  const { name, secret } = (await response.json()) as NewWebhook;
  once.value = { what: `The secret that signs the events for ${name}`, text: secret };
  again();
}
