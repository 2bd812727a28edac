// How is an endpoint shown that does not answer (webhooks.md#unknown)?
import type { Webhook, WebhookFields } from "../../schema/webhook/webhook.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import { asDroverError, hasCode } from "../http/problem.ts";

/** What the registry knows of an endpoint. */
interface Known {
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

/** The view of an endpoint. One that fails, or has no settings yet, is `unknown`: it hides no other. */
export async function viewOrUnknown(endpoint: Readable, known: Known): Promise<Webhook> {
  try {
    return await endpoint.read();
  } catch (error) {
    return unknownView(known, reasonOf(error));
  }
}

/** The view of an endpoint: `unknown` before it has its settings. Other failures are the caller's. */
export async function viewOnceConfigured(endpoint: Readable, known: Known): Promise<Webhook> {
  try {
    return await endpoint.read();
  } catch (error) {
    if (hasCode(error, "unknown_webhook")) return unknownView(known, reasonOf(error));
    throw error;
  }
}

function reasonOf(error: unknown): string {
  if (hasCode(error, "unknown_webhook"))
    return "the endpoint does not have its settings yet; Drover sends them again until it has: ask again";
  const { code, message } = asDroverError(error);
  // The text of a bug leads to a line of the log that only an answer with an error has.
  const reason = code === "internal" ? "it failed unexpectedly" : message;
  return `the endpoint did not answer: ${reason}; ask again`;
}

/** What the registry knows of an endpoint, and why nothing else is known. */
function unknownView({ id, name, project, fields, createdAt, createdBy }: Known, text: string): Webhook {
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
