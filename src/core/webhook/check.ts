// Which invariants must every step of an endpoint keep?
import type { Invariant } from "../../shared/machine.ts";
import { grows, ofRecord, ofRows } from "../invariants.ts";
import type { WebhookRecord, WebhookState } from "./record.ts";

const ofWebhook = ofRecord<WebhookRecord>;

/** The invariants of an endpoint, for `check` (shell.md#assertions). */
export const webhookInvariants: readonly Invariant<WebhookState>[] = [
  ofWebhook("rules.md#r1", grows("revision", "nextNumber", "failures")),
  ofWebhook("webhooks.md#following", (before, { cursors }) => {
    const back = Object.entries(before.cursors).find(([pool, { listedAt, since, placed, ends }]) => {
      const now = cursors[pool];
      return placed && now?.placed && now.since === since && now.listedAt === listedAt && now.ends < ends;
    });
    return back && `the cursor of pool ${back[0]} went back from ${back[1].ends}`;
  }),
  ofRows(
    "webhooks.md#state",
    (state) => state.deliveries,
    (before, row) =>
      before !== undefined && (before.body !== row.body || before.id !== row.id)
        ? "its bytes or its id have changed"
        : undefined,
  ),
];
