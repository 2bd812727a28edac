// The client's calls about webhooks. The operation determines the type of an answer.
import { type CallOptions, callStream, type Target } from "./transport/http.ts";
import { ask, callOf } from "./transport/operations.ts";
import type { ReplayRequest, WebhookDeliveryState, WebhookFields, WebhookRequest } from "./types.ts";

/** How long the answer to a test may take: the receiver has 20 s. */
const TEST_ANSWERS_WITHIN_MS = 50_000;

/** The routes of webhooks. Each call rejects with `ApiError` or `UnreachableError`. */
export function webhooksOf(target: Target) {
  return {
    /**
     * Creates an endpoint. Only this answer shows its secret. The call is sent once. If the answer is lost,
     * `list` says whether the endpoint exists, and `rotate` gives it a secret that is known.
     */
    create: (request: WebhookRequest, options?: CallOptions) =>
      ask(target, "createWebhook", { body: request }, options),

    list: (options?: CallOptions) => ask(target, "listWebhooks", {}, options),

    get: (name: string, options?: CallOptions) => ask(target, "getWebhook", { path: { name } }, options),

    /** Changes where an endpoint is, and what it receives. What is left out gets its default. */
    put: (name: string, fields: WebhookFields, options?: CallOptions) =>
      ask(target, "putWebhook", { path: { name }, body: fields }, options),

    async delete(name: string, options?: CallOptions): Promise<void> {
      await callStream(target, callOf("deleteWebhook", { path: { name } }, options));
    },

    /** Gives the endpoint a new secret. For `overlap` (default: 24h) the previous secret signs as well. */
    rotate: (name: string, { overlap, ...options }: CallOptions & { overlap?: string } = {}) =>
      ask(target, "rotateWebhook", { path: { name }, body: { overlap } }, options),

    disable: (name: string, options?: CallOptions) =>
      ask(target, "disableWebhook", { path: { name } }, { ...options, repeatable: true }),

    /** `from`: `last` (default), where it stopped; `now`; or a duration, this long ago. */
    enable: (name: string, { from, ...options }: CallOptions & { from?: string } = {}) =>
      ask(target, "enableWebhook", { path: { name }, body: { from } }, options),

    /** Sends a test event once, and answers with what came of it. */
    test: (name: string, options?: CallOptions) =>
      ask(target, "testWebhook", { path: { name } }, { ...options, answerWithinMs: TEST_ANSWERS_WITHIN_MS }),

    /** A page of deliveries, newest first. `cursor`: the `next` of the page before. */
    deliveries: (
      name: string,
      query: { state?: WebhookDeliveryState[]; limit?: number; cursor?: string } = {},
      options?: CallOptions,
    ) => ask(target, "listDeliveries", { path: { name }, query }, options),

    /** Sends deliveries again: some by id, or those of a range of time that were not delivered. */
    replay: (name: string, request: ReplayRequest, options?: CallOptions) =>
      ask(target, "replayDeliveries", { path: { name }, body: request }, options),
  };
}
