// How is an endpoint shown that does not answer (webhooks.md#unknown)?
import type { Webhook, WebhookFields } from "../../schema/webhook/webhook.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import { asDroverError, hasCode } from "../http/problem.ts";

/** What the registry knows of an endpoint. */
export interface KnownWebhook {
  id: string;
  name: string;
  project: string;
  fields: WebhookFields;
  createdAt: Instant;
  createdBy: string;
}

/** An endpoint as far as it can be asked for its view. */
interface Readable {
  read(): Promise<Webhook>;
}

/**
 * The view of an endpoint. One that fails, or has no settings yet, is `unknown`: it hides no other. Throws
 * what the walls refuse: that is about the caller, and not about the endpoint.
 */
export async function viewOrUnknown(endpoint: Readable, known: KnownWebhook): Promise<Webhook> {
  try {
    return await endpoint.read();
  } catch (error) {
    return unknownView(known, reasonOf(error, known.id));
  }
}

/**
 * The view of an endpoint: `unknown` before it has its settings. `find` asks the registry again, which throws
 * if the endpoint was deleted meanwhile. Other failures are the caller's.
 */
export async function viewOnceConfigured(
  endpoint: Readable,
  find: () => Promise<KnownWebhook>,
): Promise<Webhook> {
  try {
    return await endpoint.read();
  } catch (error) {
    if (hasCode(error, "unknown_webhook")) return unknownView(await find(), NO_SETTINGS);
    throw error;
  }
}

const NO_SETTINGS =
  "the endpoint does not have its settings yet; Drover sends them again until it has: ask again";

/** Why an endpoint gives no view. Throws what is not about the endpoint; a bug gets a line of the log. */
function reasonOf(error: unknown, id: string): string {
  if (hasCode(error, "unknown_webhook")) return NO_SETTINGS;
  const { code, message, temporary } = asDroverError(error);
  if (code !== "internal" && !temporary) throw error;
  if (code === "internal") logUnread(id, error);
  // The text of a bug leads to a line of the log that only an answer with an error has.
  const reason = code === "internal" ? "it failed unexpectedly" : message;
  return `the endpoint did not answer: ${reason}; ask again`;
}

function logUnread(id: string, error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? String(error)) : String(error);
  console.error({ event: "webhook_unread", id, error: text });
}

/** What the registry knows of an endpoint, and why nothing else is known. */
function unknownView(
  { id, name, project, fields, createdAt, createdBy }: KnownWebhook,
  text: string,
): Webhook {
  return {
    id,
    name,
    project,
    url: fields.url,
    types: fields.types,
    pools: fields.pools ?? null,
    labels: fields.labels,
    state: "unknown",
    disabled: null,
    failing: null,
    unsigned: null,
    unknown: { text },
    pausedUntil: null,
    waiting: null,
    behind: [],
    gap: null,
    createdAt: iso(createdAt),
    createdBy,
    oldSecretUntil: null,
  };
}
