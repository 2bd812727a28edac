// What does an endpoint do with each message, and what does it answer (messages.md#inboxes)?
import type { Instant } from "../../shared/machine.ts";
import type { Inbox } from "../inbox.ts";
import { answerNews, cursorsFor, foldNews } from "./follow.ts";
import type { ConfigureWebhook, ConfigureWebhookAnswer } from "./messages.ts";
import { deliveryKey, type ReadonlyWebhook, type WebhookRecord, type WebhookState } from "./record.ts";

/** The inbox of an endpoint. */
export const webhookInbox: Inbox<"webhook", WebhookState> = {
  configure_webhook: { fold: foldConfigure, answer: answerConfigure },
  news: { fold: foldNews, answer: answerNews },
};

/** Applies a newer revision of the settings. A deletion is for good: nobody uses the id again. */
function foldConfigure(state: WebhookState, message: ConfigureWebhook, now: Instant): WebhookState {
  const { record } = state;
  const { webhook: id, revision, settings } = message;
  if (record !== null && (revision <= record.revision || record.settings === null)) return state;
  if (settings === null) {
    for (const { number } of [...state.deliveries.live()]) state.deliveries.delete(deliveryKey(number));
    state.deliveries.forget(now);
    return {
      ...state,
      record: { ...(record ?? freshRecord(id)), revision, settings, cursors: {}, replay: null },
    };
  }
  const known = record ?? freshRecord(id);
  const moved = known.settings !== null && known.settings.fields.url !== settings.fields.url;
  // What another receiver did says nothing of this one; and there may be another secret.
  const forgiven = { unsigned: null, ...(moved ? { failing: null, pausedUntil: 0 } : {}) };
  const cursors = cursorsFor(known.cursors, settings.pools);
  return { ...state, record: { ...known, ...forgiven, revision, settings, cursors } };
}

function freshRecord(id: string): WebhookRecord {
  return {
    id,
    revision: 0,
    settings: null,
    cursors: {},
    nextNumber: 1,
    disabled: null,
    failing: null,
    failures: 0,
    pausedUntil: 0,
    unsigned: null,
    replay: null,
    gap: null,
  };
}

/** A deletion is confirmed once the registry has all entries of the log: then it forgets the endpoint. */
function answerConfigure({ record }: ReadonlyWebhook): ConfigureWebhookAnswer {
  if (record === null) return { revision: 0 };
  const owes = record.settings === null && (record.audit?.owed.length ?? 0) > 0;
  return { revision: owes ? record.revision - 1 : record.revision };
}
