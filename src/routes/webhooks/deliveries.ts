// The routes of deliveries: list, test, replay (webhooks.md#deliveries).
import { z } from "zod";
import {
  Delivery,
  DeliveryList,
  DeliveryState,
  Replayed,
  ReplayRequest,
} from "../../schema/webhook/webhook.ts";
import { DELIVERY_STATES } from "../../shared/webhooks/words.ts";
import type { EdgeApp } from "../edge.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, jsonBody, Limit, repeatable } from "../openapi/params.ts";
import { ofWebhooks, WebhookParams, webhookOf } from "./endpoints.ts";

const list = operation({
  ...ofWebhooks,
  method: "get",
  path: "/v1/webhooks/{name}/deliveries",
  operationId: "listDeliveries",
  codes: ["unknown_webhook"],
  summary: "The deliveries of an endpoint in the last 30 days, newest first",
  description: "Each with its latest attempt. A page may have fewer items than `limit` though more follow.",
  request: {
    params: WebhookParams,
    query: z.strictObject({
      state: repeatable(DeliveryState).optional(),
      limit: Limit,
      cursor: z
        .string()
        .regex(/^\d{12}$/, "must be the `next` of an earlier answer")
        .optional(),
    }),
  },
  responses: { 200: jsonAnswer("the deliveries", DeliveryList) },
});

const test = operation({
  ...ofWebhooks,
  method: "post",
  path: "/v1/webhooks/{name}/test",
  operationId: "testWebhook",
  codes: ["unknown_webhook"],
  summary: "Send a test event once, and say what came of it",
  description:
    "It is sent at once, also to an endpoint that is disabled or whose receiver has asked for a pause. The " +
    "answer comes after the attempt, which takes 20 s at most.",
  request: { params: WebhookParams },
  responses: { 200: jsonAnswer("the delivery", Delivery) },
});

const replay = operation({
  ...ofWebhooks,
  method: "post",
  path: "/v1/webhooks/{name}/replay",
  operationId: "replayDeliveries",
  codes: ["unknown_webhook", "unknown_delivery"],
  summary: "Send deliveries again: some by id, or those of a range of time that were not delivered",
  description: "They keep their ids and their bytes, so a receiver can tell doubles.",
  request: { params: WebhookParams, body: jsonBody(ReplayRequest) },
  responses: { 202: jsonAnswer("they are sent again", Replayed) },
});

/** Adds the routes of deliveries (webhooks.md#deliveries). */
export function deliveryRoutes(app: EdgeApp): void {
  app.openapi(list, async (c) => {
    const { state = [...DELIVERY_STATES], limit, cursor } = c.req.valid("query");
    const one = await webhookOf(c, c.req.valid("param").name);
    const page = { limit, states: state, ...(cursor === undefined ? {} : { cursor }) };
    return c.json(await one.deliveries(page), 200);
  });
  app.openapi(test, async (c) => {
    const one = await webhookOf(c, c.req.valid("param").name);
    return c.json(await one.test(c.var.caller.by), 200);
  });
  app.openapi(replay, async (c) => {
    const one = await webhookOf(c, c.req.valid("param").name);
    return c.json({ replayed: await one.replay(c.req.valid("json"), c.var.caller.by) }, 202);
  });
}
