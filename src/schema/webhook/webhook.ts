// What do the routes of webhooks accept and answer (webhooks.md#endpoints)?
import { z } from "zod";
import { formatDuration, parseDuration } from "../../shared/duration.ts";
import { DELIVERY_STATES, END_TYPES, WEBHOOK_STATES, WEBHOOK_TYPES } from "../../shared/webhooks/words.ts";
import { Duration, InstantInput, InstantText, Name } from "../common.ts";
import { TextMap } from "../run/task.ts";

/** How many pools the filter of one endpoint can name. */
export const MAX_WEBHOOK_POOLS = 100;
/** How long the old secret of a rotated endpoint can sign at most, too. */
const MAX_OVERLAP_MS = 30 * 24 * 3_600_000;
/** The longest URL of an endpoint. */
const MAX_URL_CHARS = 2_048;
/** How many deliveries one replay can name. */
export const MAX_REPLAYED_IDS = 100;

export const WebhookType = z
  .enum(WEBHOOK_TYPES, `must be one of ${WEBHOOK_TYPES.join(", ")}`)
  .meta({ id: "WebhookType" });
export type WebhookType = z.output<typeof WebhookType>;

/** The type of a delivered event. */
export const EventType = z.enum([...WEBHOOK_TYPES, "webhook.test"]).meta({ id: "WebhookEventType" });
export type EventType = z.output<typeof EventType>;

/** The states of a delivery (webhooks.md#deliveries). */
export const DeliveryState = z.enum(DELIVERY_STATES).meta({ id: "WebhookDeliveryState" });

const EndpointUrl = z
  .string()
  .max(MAX_URL_CHARS)
  .refine(URL.canParse, "must be a URL")
  .describe("where the events are sent: https, port 443 or 8443, a public name");
const Types = z.array(WebhookType).min(1).max(WEBHOOK_TYPES.length);
const Pools = z.array(Name).min(1).max(MAX_WEBHOOK_POOLS);

/** What an endpoint receives, and where. */
export const WebhookFields = z.strictObject({
  url: EndpointUrl,
  types: Types.default([...END_TYPES]).describe("which events are sent; without it, every end of a run"),
  pools: Pools.optional().describe("only runs of these pools; without it, of all pools"),
  labels: TextMap.default({}).describe("only runs with these labels"),
});
export type WebhookFields = z.output<typeof WebhookFields>;

/** `POST /v1/webhooks`. */
export const WebhookRequest = WebhookFields.extend({ name: Name.describe("the endpoint's name") });
export type WebhookRequest = z.output<typeof WebhookRequest>;

/** `POST /v1/webhooks/{name}/rotate` (webhooks.md#rotation). */
export const RotateWebhookRequest = z.strictObject({
  overlap: Duration.refine(
    (text) => (parseDuration(text) ?? 0) <= MAX_OVERLAP_MS,
    `must be at most ${formatDuration(MAX_OVERLAP_MS)}`,
  )
    .default("24h")
    .describe("how long deliveries carry the signature of the old secret as well; 0s ends it at once"),
});

/** `POST /v1/webhooks/{name}/enable` (webhooks.md#disabling). */
export const EnableWebhookRequest = z.strictObject({
  from: z
    .union([z.literal("now"), z.literal("last"), Duration])
    .default("last")
    .describe("where it goes on: `last`, where it stopped; `now`; or this long ago"),
});

/** `POST /v1/webhooks/{name}/replay` (webhooks.md#replay). */
export const ReplayRequest = z
  .strictObject({
    ids: z.array(z.string().max(128)).min(1).max(MAX_REPLAYED_IDS).optional().describe("these deliveries"),
    since: InstantInput.optional().describe("those that were made at this time or later"),
    until: InstantInput.optional().describe("those that were made before this time"),
    all: z.boolean().default(false).describe("in the range, also those that were delivered"),
  })
  .refine(
    ({ ids, since, until }) => (ids === undefined) !== (since === undefined && until === undefined),
    "needs either `ids`, or a range by `since` and `until`",
  );
export type ReplayRequest = z.output<typeof ReplayRequest>;

/** What an endpoint is doing (webhooks.md#states). */
export const WebhookState = z.enum([...WEBHOOK_STATES, "unknown"]).meta({ id: "WebhookState" });

/** Why an endpoint is disabled. */
export const DisabledCode = z.enum(["gone", "failing", "asked"]).meta({ id: "DisabledCode" });

/** An endpoint without its secret. */
export const Webhook = z
  .object({
    name: z.string(),
    project: z.string(),
    id: z.string(),
    url: z.string(),
    types: z.array(WebhookType),
    pools: z.array(z.string()).nullable().describe("null: all pools"),
    labels: z.record(z.string(), z.string()),
    state: WebhookState,
    disabled: z
      .object({
        code: DisabledCode,
        text: z.string().describe("why, and what to do"),
        at: InstantText,
        by: z.string().nullable().describe("who disabled it; null: Drover did"),
      })
      .nullable(),
    failing: z
      .object({
        since: InstantText,
        failures: z.int().describe("attempts in a row that have failed"),
        text: z.string().describe("how the latest one failed"),
      })
      .nullable()
      .describe("null: the latest attempt succeeded, or there was none"),
    unsigned: z
      .object({
        since: InstantText,
        text: z.string().describe("why nothing can be signed, and what to do"),
        nextAt: InstantText.describe("when the secret is tried again"),
      })
      .nullable()
      .describe("nothing is sent, since Drover cannot open the secret; null: it can"),
    unknown: z
      .object({ text: z.string().describe("why, and what to do") })
      .nullable()
      .describe("the endpoint did not answer, so what only it knows is null or empty; null: it did"),
    pausedUntil: InstantText.nullable().describe("the receiver asked for a pause until then"),
    waiting: z.int().nullable().describe("deliveries that are not over; null: unknown"),
    behind: z.array(z.string()).describe("pools with news that no delivery was made of yet"),
    gap: z
      .object({
        runs: z.int().describe("how many ends are never sent"),
        at: InstantText.describe("when the latest of them was noticed"),
      })
      .nullable()
      .describe("ends whose runs were deleted before the endpoint had read them; null: none"),
    createdAt: InstantText,
    createdBy: z.string(),
    oldSecretUntil: InstantText.nullable().describe("until when the old secret signs, too"),
  })
  .meta({ id: "Webhook" });
export type Webhook = z.infer<typeof Webhook>;

export const NewWebhook = Webhook.extend({
  secret: z.string().describe("the secret that signs its deliveries: shown now and never again"),
}).meta({ id: "NewWebhook" });
export type NewWebhook = z.infer<typeof NewWebhook>;

export const WebhookList = z.object({ items: z.array(Webhook), next: z.null() }).meta({ id: "WebhookList" });

/** One attempt to deliver. */
export const DeliveryAttempt = z
  .object({
    at: InstantText,
    status: z.int().nullable().describe("of the answer; null: there was none"),
    durationMs: z.int(),
    problem: z.string().nullable().describe("what went wrong, or is odd"),
    answer: z.string().nullable().describe("the first KiB of the answer's body"),
  })
  .meta({ id: "WebhookAttempt" });

/** A delivery: one event for one endpoint, and its attempts. */
export const Delivery = z
  .object({
    id: z.string().describe("the `webhook-id`, the same in each attempt"),
    type: EventType,
    run: z.string().nullable(),
    pool: z.string().nullable(),
    state: DeliveryState,
    tries: z.int(),
    createdAt: InstantText,
    nextAt: InstantText.nullable().describe("when it is tried next; null: it is over"),
    last: DeliveryAttempt.nullable().describe("the latest attempt"),
  })
  .meta({ id: "WebhookDelivery" });
export type Delivery = z.infer<typeof Delivery>;

export const DeliveryList = z
  .object({ items: z.array(Delivery), next: z.string().nullable() })
  .meta({ id: "WebhookDeliveryList" });
export type DeliveryList = z.infer<typeof DeliveryList>;

export const Replayed = z
  .object({ replayed: z.int().nullable().describe("how many are tried again; null: a range, in steps") })
  .meta({ id: "WebhookReplay" });
