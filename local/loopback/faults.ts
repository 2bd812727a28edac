import { randomUUID } from "node:crypto";
import { z } from "zod";
import {
  type CreateInstance,
  type Instance,
  type InstancePage,
  LIFECYCLE_STATES,
  ProviderProblem,
} from "../../src/schema/provider.ts";
import type { LoopbackCloud } from "./cloud.ts";
import { ProviderError } from "./provider-error.ts";

/** How often something is to go wrong from now on. */
const Times = z.int().min(0).max(1_000).default(0);
const Pause = z.int().min(0).max(3_600_000);
const Delay = Pause.default(0);
const Refusals = z
  .strictObject({
    times: Times,
    class: ProviderProblem.shape.class.default("temporary"),
    retryAfterMs: Pause.optional(),
  })
  .prefault({});

/**
 * How this cloud lies and fails, for tests: clouds do all of it. Whatever is not named is as it should be, so
 * that `{}` ends all faults.
 */
export const Faults = z.strictObject({
  /** Machines that are created boot this much later than they say. */
  bootDelayMs: Delay,
  /** The next machines never report: their user data is not run. */
  deadBoots: Times,
  /** The next creates make the machine, and break the connection instead of answering. */
  lostCreateAnswers: Times,
  /** The next creates make nothing and are refused, with the class and the pause that are named. */
  refusedCreates: Refusals,
  /** The next creates know no token: each makes a machine of its own. */
  duplicatedCreates: Times,
  /** The next calls of any kind are refused. */
  refusedCalls: Refusals,
  /** Listings show a machine only this long after its create. */
  listDelayMs: Delay,
  /** The next listings, though they say that they are complete, lack every machine that exists. */
  omittingListings: Times,
  /** The next listings do not say that they are complete. */
  unvouchedListings: Times,
  /** Listings come in pages of so many machines; 0: in one. */
  pageSize: z.int().min(0).max(1_000).default(0),
  /** Pages are counted, so that machines move up when others leave; and each page read ends the first one. */
  shiftingPages: z.boolean().default(false),
  /** Listings show machines that have not ended in this state, whatever they do. */
  wedgedState: z.enum(LIFECYCLE_STATES).nullable().default(null),
  /** The clock by which machines were created jumps so far with each listing. */
  clockStepMs: Delay,
  /** The next destroys are answered as if they were heeded. */
  ignoredDestroys: Times,
  /** The next destroys are answered as if there were no such machine, and not heeded. */
  unfoundDestroys: Times,
  /** The next destroys begin and never end: the machine is `stopping`, until it is destroyed again. */
  stuckDestroys: Times,
});
export type Faults = z.infer<typeof Faults>;

/** What an honest cloud can do. */
export type Cloud = Pick<LoopbackCloud, "create" | "list" | "destroy" | "retag">;

/** What a listing asks for. */
interface Asked {
  tag?: { name: string; value: string } | undefined;
  cursor?: string | undefined;
}

/** Thrown instead of an answer: the connection is to be broken. */
export class LostAnswer extends Error {
  override readonly name = "LostAnswer";
}

const STATUSES: Record<z.infer<typeof ProviderProblem>["class"], number> = {
  rate_limit: 429,
  quota: 403,
  capacity: 503,
  invalid: 400,
  temporary: 503,
};

/** A cloud between its callers and an honest one. Faults are forgotten when it ends, and machines are not. */
export class FaultyCloud {
  readonly #cloud: Cloud;
  #faults = Faults.parse({});
  #steppedMs = 0;
  readonly #stuck = new Set<string>();

  constructor(cloud: Cloud) {
    this.#cloud = cloud;
  }

  /** What is still to go wrong. */
  get faults(): Faults {
    return this.#faults;
  }

  set faults(faults: Faults) {
    this.#faults = faults;
  }

  /** Throws if the call that comes now is to be refused. */
  admit(): void {
    refuse(this.#faults.refusedCalls, "call");
  }

  create(request: CreateInstance): Instance {
    refuse(this.#faults.refusedCreates, "create");
    const token = this.#strikes("duplicatedCreates") ? randomUUID() : request.token;
    const instance = this.#cloud.create({ ...request, token, userData: this.#userData(request) });
    if (this.#strikes("lostCreateAnswers")) throw new LostAnswer();
    return instance;
  }

  list({ tag, cursor }: Asked): InstancePage {
    const items = this.#seen(tag);
    const complete = !this.#strikes("unvouchedListings");
    const { pageSize, shiftingPages } = this.#faults;
    if (pageSize === 0) return { items, complete };
    const from = shiftingPages ? Number(cursor ?? 0) : items.findIndex(({ id }) => id === cursor) + 1;
    const page = items.slice(from, from + pageSize);
    const last = shiftingPages ? String(from + pageSize) : page.at(-1)?.id;
    if (shiftingPages && items[0] !== undefined) this.#cloud.destroy(items[0].id);
    return { items: page, complete, next: from + pageSize < items.length ? last : null };
  }

  destroy(id: string): boolean {
    if (this.#strikes("unfoundDestroys")) return false;
    const sticks = this.#strikes("stuckDestroys");
    if (sticks) this.#stuck.add(id);
    else this.#stuck.delete(id);
    if (!sticks && !this.#strikes("ignoredDestroys")) return this.#cloud.destroy(id);
    return this.#cloud.list().some((instance) => instance.id === id);
  }

  retag(id: string, tags: Record<string, string>): boolean {
    return this.#cloud.retag(id, tags);
  }

  /** What a listing that is made now shows. */
  #seen(tag: Asked["tag"]): Instance[] {
    const { clockStepMs, listDelayMs } = this.#faults;
    const omits = this.#strikes("omittingListings");
    const listedSince = Date.now() - listDelayMs;
    this.#steppedMs += clockStepMs;
    return this.#cloud
      .list(tag)
      .filter(({ createdAt }) => Date.parse(createdAt) <= listedSince)
      .filter(({ state }) => !omits || state === "terminated")
      .map((instance) => ({
        ...instance,
        state: this.#shownState(instance),
        createdAt: new Date(Date.parse(instance.createdAt) + this.#steppedMs).toISOString(),
      }));
  }

  #shownState({ id, state }: Instance): Instance["state"] {
    if (state === "terminated") return state;
    return this.#stuck.has(id) ? "stopping" : (this.#faults.wedgedState ?? state);
  }

  #userData({ userData }: CreateInstance): string {
    if (this.#strikes("deadBoots")) return "while :; do sleep 1000; done\n";
    const { bootDelayMs } = this.#faults;
    return bootDelayMs === 0 ? userData : `sleep ${bootDelayMs / 1_000}\n${userData}`;
  }

  /** Whether a fault is to happen now; then once less from now on. */
  #strikes(fault: Counted): boolean {
    if (this.#faults[fault] === 0) return false;
    this.#faults[fault] -= 1;
    return true;
  }
}

/** The faults that are a number of times. */
type Counted =
  | "deadBoots"
  | "lostCreateAnswers"
  | "duplicatedCreates"
  | "omittingListings"
  | "unvouchedListings"
  | "ignoredDestroys"
  | "unfoundDestroys"
  | "stuckDestroys";

function refuse(refused: z.infer<typeof Refusals>, what: string): void {
  if (refused.times === 0) return;
  refused.times -= 1;
  const text = `It was told to refuse this ${what} (${refused.class}).`;
  throw new ProviderError(STATUSES[refused.class], refused.class, text, refused.retryAfterMs);
}
