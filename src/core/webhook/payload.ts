// Which bytes does a delivery have (webhooks.md#body)?
import type { RunSummary } from "../../schema/run/run.ts";
import type { EventType, WebhookType } from "../../schema/webhook/webhook.ts";
import type { Instant } from "../../shared/machine.ts";
import type { EndState, RunState } from "../../shared/run-state.ts";
import { iso } from "../../shared/time/instant.ts";

/** The largest body of a delivery. */
export const MAX_PAYLOAD_BYTES = 20_000;

/** The type of the event that tells the end of a run in this state. */
const TYPE_OF_END: Record<EndState, WebhookType> = {
  complete: "run.completed",
  failed: "run.failed",
  aborted: "run.aborted",
  timedout: "run.timedout",
  unknown: "run.unknown",
};

/** The type of the event for a run in this state (webhooks.md#types). */
export function typeOfRun(state: RunState): WebhookType {
  return state === "pending" || state === "running" ? "run.updated" : TYPE_OF_END[state];
}

/**
 * The body of a delivery about a run: ids, state, exit code, labels and links. Why a run is parked may have
 * words of its own, such as what its check has written, and is left out. So are labels that would make the
 * body too large, and `labelsOmitted` says so.
 */
export function runPayload(run: RunSummary, url: string, now: Instant): string {
  const path = `/v1/runs/${encodeURIComponent(run.id)}`;
  const data = {
    run: run.id,
    project: run.project,
    pool: run.pool,
    state: run.state,
    version: run.version,
    exitCode: run.exitCode,
    labels: run.labels,
    ...(run.parked === undefined ? {} : { parked: { since: run.parked.since, tries: run.parked.tries } }),
    submittedAt: run.submittedAt,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    links: { run: `${url}${path}`, events: `${url}${path}/events`, why: `${url}${path}/why` },
  };
  const timestamp = run.finishedAt ?? iso(now);
  const body = bodyOf(typeOfRun(run.state), timestamp, data);
  if (new TextEncoder().encode(body).byteLength <= MAX_PAYLOAD_BYTES) return body;
  return bodyOf(typeOfRun(run.state), timestamp, { ...data, labels: {}, labelsOmitted: true });
}

/** The body of a test event. */
export function testPayload(webhook: string, by: string, now: Instant): string {
  return bodyOf("webhook.test", iso(now), { webhook, by });
}

function bodyOf(type: EventType, timestamp: string, data: object): string {
  return JSON.stringify({ type, timestamp, data });
}
