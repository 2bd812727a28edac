// The routes of webhooks: create, list, read, change, delete, rotate, disable, enable.
import { z } from "zod";
import { Name } from "../../schema/common.ts";
import {
  EnableWebhookRequest,
  NewWebhook,
  RotateWebhookRequest,
  Webhook,
  WebhookFields,
  WebhookList,
  WebhookRequest,
} from "../../schema/webhook/webhook.ts";
import { durationMs } from "../../shared/duration.ts";
import { WEBHOOK_SECRET_BYTES, webhookSecret } from "../../signing/standard-webhooks.ts";
import { namedBy } from "../access/caller.ts";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { inParallel } from "../http/parallel.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, jsonBody } from "../openapi/params.ts";
import { type KnownWebhook, viewOnceConfigured, viewOrUnknown } from "./unknown.ts";

/** What all routes of webhooks declare. */
export const ofWebhooks = { tag: "Webhooks", access: "webhooks:write" } as const;
export const WebhookParams = z.object({ name: Name.describe("the endpoint's name") });

const create = operation({
  ...ofWebhooks,
  method: "post",
  path: "/v1/webhooks",
  operationId: "createWebhook",
  codes: ["webhook_exists", "busy", "not_acknowledged", "no_wrapping_key"],
  summary:
    "Create an endpoint; the answer shows the secret that signs its events, and nothing else ever does",
  description:
    "From now on, the ends of runs are sent to it, signed by Standard Webhooks. An event that the " +
    "receiver does not answer with 2xx is sent again: ten attempts at most, over three to four days. Then " +
    "it is `failed`, and can be replayed. While the receiver accepts nothing at all, attempts go on " +
    "daily, until the endpoint is disabled after 5 days.",
  request: { body: jsonBody(WebhookRequest) },
  responses: { 201: jsonAnswer("it is told of what ends from now on", NewWebhook, ["Location"]) },
});

const list = operation({
  ...ofWebhooks,
  method: "get",
  path: "/v1/webhooks",
  operationId: "listWebhooks",
  summary: "All endpoints, by name, each with its state",
  description:
    "One that does not answer is listed, too: its state is `unknown`, and `unknown.text` says why.",
  responses: { 200: jsonAnswer("the endpoints", WebhookList) },
});

const read = operation({
  ...ofWebhooks,
  method: "get",
  path: "/v1/webhooks/{name}",
  operationId: "getWebhook",
  codes: ["unknown_webhook"],
  summary: "One endpoint, without its secret",
  request: { params: WebhookParams },
  responses: { 200: jsonAnswer("the endpoint", Webhook) },
});

const change = operation({
  ...ofWebhooks,
  method: "put",
  path: "/v1/webhooks/{name}",
  operationId: "putWebhook",
  codes: ["unknown_webhook", "not_acknowledged"],
  summary: "Change where an endpoint is, and what it receives; its secret stays",
  description: "Deliveries that wait go to the new URL.",
  request: { params: WebhookParams, body: jsonBody(WebhookFields) },
  responses: { 200: jsonAnswer("the endpoint", Webhook) },
});

const remove = operation({
  ...ofWebhooks,
  method: "delete",
  path: "/v1/webhooks/{name}",
  operationId: "deleteWebhook",
  codes: ["unknown_webhook", "not_acknowledged"],
  summary: "Delete an endpoint with its deliveries",
  description: "An attempt that is on its way arrives.",
  request: { params: WebhookParams },
  responses: { 204: { description: "it is deleted" } },
});

const rotate = operation({
  ...ofWebhooks,
  method: "post",
  path: "/v1/webhooks/{name}/rotate",
  operationId: "rotateWebhook",
  codes: ["unknown_webhook", "not_acknowledged", "no_wrapping_key"],
  summary: "Give an endpoint another secret; for `overlap`, the one before signs as well",
  request: { params: WebhookParams, body: jsonBody(RotateWebhookRequest) },
  responses: { 200: jsonAnswer("the endpoint with its new secret", NewWebhook) },
});

const disable = operation({
  ...ofWebhooks,
  method: "post",
  path: "/v1/webhooks/{name}/disable",
  operationId: "disableWebhook",
  codes: ["unknown_webhook"],
  summary: "Send nothing more to an endpoint, until it is enabled",
  request: { params: WebhookParams },
  responses: { 200: jsonAnswer("the endpoint", Webhook) },
});

const enable = operation({
  ...ofWebhooks,
  method: "post",
  path: "/v1/webhooks/{name}/enable",
  operationId: "enableWebhook",
  codes: ["unknown_webhook"],
  summary: "Send to an endpoint again",
  description:
    "By default it goes on where it stopped, as far as the runs still exist. An endpoint that is enabled " +
    "already tries at once what waits.",
  request: { params: WebhookParams, body: jsonBody(EnableWebhookRequest) },
  responses: { 200: jsonAnswer("the endpoint", Webhook) },
});

/** The caller's endpoint of this name, as an object. Code: `unknown_webhook`. */
export async function webhookOf({ var: { caller, objects } }: EdgeContext, name: string) {
  const { id } = await objects.registry().webhook(namedBy(caller, name));
  return objects.webhook(id);
}

/** Adds the routes of endpoints (webhooks.md#endpoints). */
export function webhookRoutes(app: EdgeApp): void {
  app.openapi(create, async (c) => {
    const { name, ...fields } = c.req.valid("json");
    const secret = freshSecret();
    const id = `wh-${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`;
    const { objects, caller } = c.var;
    const ref = { id, ...namedBy(caller, name), fields };
    const known = { ...ref, createdAt: c.env.now(), createdBy: caller.by };
    await objects.registry().createWebhook(ref, secret, caller.by);
    c.header("Location", `/v1/webhooks/${name}`);
    return c.json(await viewWithSecret(c, known, secret), 201);
  });
  app.openapi(list, async (c) => {
    const { objects, caller } = c.var;
    const known = await objects.registry().webhooks(caller.project);
    const items = await inParallel(known, (one) => viewOrUnknown(objects.webhook(one.id), one));
    return c.json({ items: items.sort((a, b) => (a.name < b.name ? -1 : 1)), next: null }, 200);
  });
  app.openapi(read, async (c) => {
    const { objects, caller } = c.var;
    const find = () => objects.registry().webhook(namedBy(caller, c.req.valid("param").name));
    const { id } = await find();
    return c.json(await viewOnceConfigured(objects.webhook(id), find), 200);
  });
  app.openapi(change, async (c) => {
    const named = namedBy(c.var.caller, c.req.valid("param").name);
    const id = await c.var.objects.registry().changeWebhook(named, c.req.valid("json"), c.var.caller.by);
    return c.json(await c.var.objects.webhook(id).read(), 200);
  });
  app.openapi(remove, async (c) => {
    await c.var.objects
      .registry()
      .removeWebhook(namedBy(c.var.caller, c.req.valid("param").name), c.var.caller.by);
    return c.body(null, 204);
  });
  app.openapi(rotate, async (c) => {
    const { objects, caller } = c.var;
    const named = namedBy(caller, c.req.valid("param").name);
    const overlapMs = durationMs(c.req.valid("json").overlap);
    const secret = freshSecret();
    const known = await objects.registry().webhook(named);
    const id = await objects.registry().rotateWebhook(named, secret, overlapMs, caller.by);
    return c.json(await viewWithSecret(c, { ...known, id }, secret), 200);
  });
  app.openapi(disable, async (c) => {
    const one = await webhookOf(c, c.req.valid("param").name);
    return c.json(await one.disable(c.var.caller.by), 200);
  });
  app.openapi(enable, async (c) => {
    const { from } = c.req.valid("json");
    const now = c.env.now();
    const start = from === "last" ? from : from === "now" ? now : now - durationMs(from);
    const one = await webhookOf(c, c.req.valid("param").name);
    return c.json(await one.enable(start, c.var.caller.by), 200);
  });
}

/**
 * An endpoint with its new secret, which nothing shows again: so the answer has the secret even if the
 * endpoint gives no view (webhooks.md#unknown).
 */
async function viewWithSecret({ var: { objects } }: EdgeContext, known: KnownWebhook, secret: string) {
  return { ...(await viewOrUnknown(objects.webhook(known.id), known)), secret };
}

function freshSecret(): string {
  return webhookSecret(crypto.getRandomValues(new Uint8Array(WEBHOOK_SECRET_BYTES)));
}
