import type { OwedEntry } from "../../../src/core/audit/entry.ts";
import { Rows } from "../../../src/core/rows.ts";
import type { Outcome } from "../../../src/core/webhook/deliveries.ts";
import { type WebhookEvent, type WebhookMessage, webhookMachine } from "../../../src/core/webhook/machine.ts";
import type { EndedRun, Follow, FollowPage, WebhookSettings } from "../../../src/core/webhook/messages.ts";
import { type DeliveryRow, isLiveDelivery, type WebhookState } from "../../../src/core/webhook/record.ts";
import type { RunSummary } from "../../../src/schema/run/run.ts";
import { WebhookFields } from "../../../src/schema/webhook/webhook.ts";
import { applied } from "../support/applied.ts";
import { MapDisk } from "../support/map-disk.ts";

export const T0 = Date.UTC(2026, 10, 24);
export const ID = "wh-1";

export const settings = (more: Partial<WebhookSettings> = {}, fields: object = {}): WebhookSettings => ({
  name: "ci",
  project: "default",
  fields: WebhookFields.parse({ url: "https://ci.example.com/hook", ...fields }),
  secrets: [{ sealed: "whsec_AAAA", until: null }],
  pools: { default: T0 },
  createdAt: T0,
  createdBy: "admin",
  ...more,
});

export const configure = (revision: number, wanted: WebhookSettings | null = settings()): WebhookEvent => ({
  type: "configure_webhook",
  body: { webhook: ID, revision, settings: wanted },
});

export const OK: Outcome = { status: 200, durationMs: 5, problem: null, answer: null, retryAfterMs: null };
export const DOWN: Outcome = { ...OK, status: null, problem: "nobody is there" };
export const answered = (status: number, retryAfterMs: number | null = null): Outcome => ({
  ...OK,
  status,
  retryAfterMs,
});

/** A run as its pool shows it. */
export const run = (id: string, over: Partial<RunSummary> = {}): RunSummary => ({
  id,
  state: "complete",
  version: 2,
  project: "default",
  pool: "default",
  labels: {},
  priority: 50,
  command: "true",
  exitCode: 0,
  worker: null,
  submittedAt: new Date(T0).toISOString(),
  startedAt: null,
  finishedAt: new Date(T0).toISOString(),
  ...over,
});

/** An endpoint with a clock of its own, a pool that has ended runs, and a receiver. */
export class Endpoint {
  now = T0;
  state: WebhookState;
  /** The runs of the pool `default` that have ended, in order. */
  readonly ended: RunSummary[] = [];
  /** Those of them that are deleted. */
  readonly deleted = new Set<string>();
  /** What the receiver got, with its answers. */
  readonly got: {
    id: string;
    body: { type: string; data: { run?: string; version?: number } };
    at: number;
  }[] = [];
  /** The entries of the audit log that the registry got. */
  readonly entries: OwedEntry[] = [];
  /** How the receiver answers. Null: the process has died before it could note the answer. */
  receiver: (row: DeliveryRow) => Outcome | null = () => OK;
  readonly disk = new MapDisk<DeliveryRow>();

  constructor(wanted: WebhookSettings = settings()) {
    this.state = this.#load(null);
    this.on(configure(1, wanted));
  }

  #load(record: WebhookState["record"]): WebhookState {
    const memo = { url: "https://drover.example.com", forgotAt: 0, clockAt: 0, news: {} };
    return { record, deliveries: new Rows(this.disk, isLiveDelivery), memo };
  }

  /** The process dies, and the next one has what is stored. */
  crash(): void {
    this.state = this.#load(this.state.record);
  }

  on(...events: WebhookEvent[]): void {
    for (const event of events) {
      this.state = applied(webhookMachine, this.state, event, this.now);
      this.state.deliveries.flush();
    }
  }

  due(): WebhookMessage[] {
    return webhookMachine.due(this.state, this.now);
  }

  sending(): number[] {
    return this.due().flatMap((one) => (one.kind === "deliver" ? [one.number] : []));
  }

  row(number: number): DeliveryRow | undefined {
    return this.state.deliveries.get(String(number).padStart(12, "0"));
  }

  /** What the pool says of these ends. */
  page({ ends, limit }: Follow): FollowPage {
    const after = ends ?? 0;
    const shown: EndedRun[] = [];
    let [reached, gone] = [after, 0];
    for (; reached < this.ended.length && shown.length < limit; reached += 1) {
      const one = this.ended[reached];
      if (one === undefined || this.deleted.has(one.id)) gone += 1;
      else shown.push({ end: reached + 1, gone, run: one });
    }
    const latest = { ends: this.ended.length, changes: 0 };
    return { kind: "page", ends: shown, gone, updates: [], reached: { ends: reached, changes: 0 }, latest };
  }

  /** The pool has news of everything that has ended. */
  news(): void {
    const body = { webhook: ID, pool: "default", ends: this.ended.length, changes: 0, asked: 0 };
    this.on({ type: "news", body });
  }

  /** Does what is due until nothing is due now. */
  settle(): void {
    for (let steps = 0; steps < 10_000; steps += 1) {
      const [message] = this.due();
      if (message === undefined) return;
      if (message.kind === "follow") {
        this.on({ type: "follow_answered", sent: message.body, answer: this.page(message.body) });
        continue;
      }
      if (message.kind === "audit") {
        this.entries.push(...message.entries);
        this.on({ type: "audit_taken", sent: message.entries });
        continue;
      }
      const row = this.row(message.number);
      if (row === undefined) throw new Error("a delivery without a row is due");
      const outcome = this.receiver(row);
      this.got.push({ id: row.id, body: JSON.parse(row.body), at: this.now });
      if (outcome === null) this.crash();
      else this.on({ type: "attempted", number: message.number, tries: message.tries, outcome });
    }
    throw new Error("it never comes to rest");
  }

  /** Lets time pass, with everything that it wakes. */
  pass(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      this.settle();
      const at = webhookMachine.wakeAt(this.state);
      if (at === undefined || at > until) break;
      this.now = Math.max(this.now, at);
      this.on({ type: "tick" });
    }
    this.now = until;
    this.on({ type: "tick" });
    this.settle();
  }

  runsGot(): (string | undefined)[] {
    return this.got.map(({ body }) => body.data.run);
  }
}
