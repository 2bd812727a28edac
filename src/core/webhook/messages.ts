// What do webhooks say to the registry and to pools, and what are they told (webhooks.md#messages)?
import type { RunSummary } from "../../schema/run/run.ts";
import type { WebhookFields } from "../../schema/webhook/webhook.ts";
import type { Instant } from "../../shared/machine.ts";
import type { NoSuch } from "../messages.ts";

/** A stored secret, sealed (`objects/webhooks/secret-box.ts`), and until when it signs. Null: no end. */
export interface SealedSecret {
  sealed: string;
  until: Instant | null;
}

/** What the registry wants of an endpoint. */
export interface WebhookSettings {
  name: string;
  /** Only runs of this project are delivered. */
  project: string;
  fields: WebhookFields;
  /** The secrets that sign, the present one first. */
  secrets: SealedSecret[];
  /** The pools to follow, and since when each: the runs that end from then on are delivered. */
  pools: Record<string, Instant>;
  createdAt: Instant;
  createdBy: string;
}

/** Registry → Webhook: what to be. `settings` null: the endpoint is deleted. */
export interface ConfigureWebhook {
  webhook: string;
  revision: number;
  settings: WebhookSettings | null;
}
/** The revision that the endpoint has stored. */
export interface ConfigureWebhookAnswer {
  revision: number;
}

/** How far the changes of a pool go: by ordinals of ended runs, and by numbers of changes. */
export interface Reach {
  ends: number;
  changes: number;
}

/** Pool → Webhook: there is news up to here. */
export interface News extends Reach {
  webhook: string;
  pool: string;
  /** How often the endpoint had asked the pool: an answer to older news says nothing of a later question. */
  asked: number;
}
/** `not_following`: the pool can forget the endpoint. */
export type NewsAnswer = { kind: "noted" } | { kind: "not_following" } | NoSuch;

/** Webhook → Pool: tell me of news from now on, and give me what is behind these marks. */
export interface Follow {
  webhook: string;
  pool: string;
  /** The ordinal of the last end that the endpoint has. Null: find it by `since`. */
  ends: number | null;
  /** The number of the last change that it has. Null: it wants no changes besides ends. */
  changes: number | null;
  /** Runs whose end the pool learned of before are left out. */
  since: Instant;
  project: string;
  labels: Record<string, string>;
  limit: number;
}

/** A run that has ended, with its ordinal among the ended runs of its pool. */
export interface EndedRun {
  end: number;
  /** How many ends lie between the mark that was asked about and this one whose runs are deleted. */
  gone: number;
  run: RunSummary;
}

/** A run that has changed and not ended, with the number of its latest change. */
export interface ChangedRun {
  number: number;
  run: RunSummary;
}

/** A page of a pool's changes. */
export interface FollowPage {
  kind: "page";
  ends: EndedRun[];
  updates: ChangedRun[];
  /** How far this page goes: everything up to here is in it, or does not match. */
  reached: Reach;
  /** How many ends up to there are not in it since their runs are deleted. */
  gone: number;
  /** How far the pool's changes go. */
  latest: Reach;
}
export type FollowAnswer = FollowPage | NoSuch;
