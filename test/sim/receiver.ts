import type { RunRow } from "../../src/core/pool/record.ts";
import type { Outcome } from "../../src/core/webhook/deliveries.ts";
import type { WebhookSettings } from "../../src/core/webhook/messages.ts";
import { type DeliveryRow, isLiveDelivery, type WebhookRecord } from "../../src/core/webhook/record.ts";
import { WebhookFields } from "../../src/schema/webhook/webhook.ts";
import { projectOfRun } from "../../src/shared/access/project.ts";
import { WEBHOOK_TYPES } from "../../src/shared/webhooks/words.ts";
import type { Disk } from "./node.ts";
import { NAMES } from "./operator.ts";
import { Chance } from "./rng.ts";
import type { World } from "./world.ts";

/** The name of the only endpoint of a story, and of its object. */
export const ENDPOINT = "webhook";
/** Until when the receiver goes down, and for how long it is down at most. */
const DOWN_WITHIN_MS = 300_000;
const LONGEST_DOWN_MS = 900_000;

/** An endpoint that follows the pool of the story from its beginning, and wants everything. */
export const SETTINGS: WebhookSettings = {
  name: ENDPOINT,
  project: "default",
  fields: WebhookFields.parse({ url: "https://receiver.test/", types: [...WEBHOOK_TYPES] }),
  secrets: [],
  pools: { [NAMES.pool]: 0 },
  createdAt: 0,
  createdBy: "operator",
};

/** What an event says of its run. */
interface Told {
  run: string;
  project: string;
  submittedAt: string;
  version: number;
  state: string;
}

/**
 * The receiver of the story's events, which is down for a while, and what its endpoint owes it: each end that
 * the pool has numbered arrives at least once, behind all that was sent of its run before, or is counted in
 * the endpoint's gap (webhooks.md#following, webhooks.md#gap).
 */
export class EventReceiver {
  readonly #world: World;
  readonly #seed: number;
  #downUntil = 0;
  /** The ids of events that have arrived. */
  readonly #seen = new Set<string>();
  /** The latest version of each run that has arrived, and the runs whose end has. */
  readonly #latest = new Map<string, number>();
  readonly #ended = new Set<string>();
  /** By ordinal: the run whose end the pool has given it to. */
  readonly #ends = new Map<number, string>();
  /** Ends whose runs were deleted before the endpoint first read the pool. */
  #neverSeen = new Set<string>();
  /** How many of them come after an end that was there: the gap counts these. */
  #passedOver = 0;

  constructor(world: World, seed: number) {
    this.#world = world;
    this.#seed = seed;
  }

  /** Plans when it is down. By a source of chance of its own, so that what else happens stays the same. */
  begin(): void {
    const { time } = this.#world;
    const chance = new Chance(this.#seed ^ 0x51ed270b);
    if (!this.#world.strikes("receiverDown", chance)) return;
    const forMs = chance.between(1_000, LONGEST_DOWN_MS);
    time.after(chance.between(0, DOWN_WITHIN_MS), () => {
      this.#world.tell(ENDPOINT, `its receiver is down for ${Math.round(forMs / 1_000)} s`);
      this.#downUntil = this.#world.now + forMs;
    });
  }

  /** The pool has stored a row: an ordinal is never given to a second run. */
  stored({ run, submittedAt, endNumber }: RunRow): void {
    if (endNumber === undefined) return;
    const key = keyOf(run, submittedAt);
    const known = this.#ends.get(endNumber) ?? key;
    if (known !== key) this.#world.violated(`hook: end ${endNumber} is of ${known} and of ${key}`, run);
    this.#ends.set(endNumber, key);
  }

  /** The endpoint has read the pool for the first time, which has these rows. */
  firstRead(rows: Iterable<RunRow>): void {
    this.#neverSeen = new Set(this.#ends.values());
    let first = Number.POSITIVE_INFINITY;
    for (const { run, submittedAt, endNumber = first } of rows) {
      this.#neverSeen.delete(keyOf(run, submittedAt));
      first = Math.min(first, endNumber);
    }
    const passedOver = [...this.#ends].filter(([end, key]) => end > first && this.#neverSeen.has(key));
    this.#passedOver = passedOver.length;
  }

  /** An event arrives. `isLate`: its sender has died, and may have sent later events since then. */
  async take({ id, type, body }: DeliveryRow, isLate: boolean): Promise<Outcome> {
    const outcome: Outcome = { status: 204, durationMs: 1, problem: null, answer: null, retryAfterMs: null };
    if (this.#world.now < this.#downUntil && !this.#world.quiet)
      return { ...outcome, status: null, problem: "nobody is there" };
    if (this.#seen.has(id)) return outcome;
    this.#seen.add(id);
    const { run, project, submittedAt, version }: Told = JSON.parse(body).data;
    if (project !== SETTINGS.project)
      this.#world.violated(`hook: ${run} of ${project} is told`, run, ENDPOINT);
    const key = keyOf(run, Date.parse(submittedAt));
    const before = this.#latest.get(key) ?? 0;
    if (version < before && !isLate)
      this.#world.violated(`hook: version ${version} of ${run} is told after ${before}`, run, ENDPOINT);
    this.#latest.set(key, Math.max(version, before));
    if (type !== "run.updated") this.#ended.add(key);
    return outcome;
  }

  /** Whether the endpoint has not come to its end yet. */
  isOwed(disk: Disk<WebhookRecord>): boolean {
    const cursor = disk.value?.cursors[NAMES.pool];
    const isRead =
      cursor !== undefined && (this.#ends.size === 0 || cursor.ends >= Math.max(...this.#ends.keys()));
    // Only its machine writes them.
    const rows = [...(disk.tables.get("deliveries")?.values() ?? [])] as DeliveryRow[];
    return !isRead || rows.some(isLiveDelivery);
  }

  /** What must hold at the end of a story. */
  check(disk: Disk<WebhookRecord>): void {
    if (this.isOwed(disk)) this.#world.violated("hook: the endpoint never comes to its end", ENDPOINT);
    const isOwn = (key: string) => projectOfRun(key) === SETTINGS.project;
    const ends = [...this.#ends.values()];
    const missing = ends.filter((key) => isOwn(key) && !this.#ended.has(key) && !this.#neverSeen.has(key));
    // The gap also counts runs of other projects that were deleted before the endpoint came to their end, and
    // a deleted run that a late message brings back gets a second ordinal.
    const others = ends.filter((key) => !isOwn(key)).length;
    const most = missing.length + this.#passedOver + others + ends.length - new Set(ends).size;
    const gap = disk.value?.gap?.runs ?? 0;
    if (gap >= missing.length && gap <= most) return;
    const runs = missing.map((key) => key.split(" ")[0] ?? "");
    const text = `hook: ${missing.length} ends were never told, and the gap has ${gap}: ${runs.join(", ")}`;
    this.#world.violated(text, ...runs, ENDPOINT);
  }
}

function keyOf(run: string, submittedAt: number): string {
  return `${run} ${submittedAt}`;
}
