// Which lies and failures of clouds can the loopback cloud imitate, for tests?
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

/** How many more times a fault happens. */
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

/** The faults that happen a given number of times. */
const COUNTED = {
  /** The next machines never report, because their user data is not run. */
  deadBoots: Times,
  /** The next creates make the machine, but the connection breaks before the answer. */
  lostCreateAnswers: Times,
  /** The next creates ignore their token: each makes another machine. */
  duplicatedCreates: Times,
  /** The next listings claim to be complete but lack every machine that exists. */
  omittingListings: Times,
  /** The next listings do not claim to be complete. */
  unvouchedListings: Times,
  /** The next destroys are answered with success and do nothing. */
  ignoredDestroys: Times,
  /** The next destroys are answered as if there were no such machine, and do nothing. */
  unfoundDestroys: Times,
  /** The next destroys never finish: the machine is `stopping` until it is destroyed again. */
  stuckDestroys: Times,
};

/** The faults of this cloud, for tests. Real clouds have all of them. `{}` ends all faults. */
export const Faults = z.strictObject({
  ...COUNTED,
  /** New machines boot this much later than their state says. */
  bootDelayMs: Delay,
  /** The next creates are refused, with the given class and pause. */
  refusedCreates: Refusals,
  /** The next calls of any kind are refused, with the given class and pause. */
  refusedCalls: Refusals,
  /** Listings show a machine only this long after its create. */
  listDelayMs: Delay,
  /** The number of machines on a page of a listing; 0: all on one page. */
  pageSize: z.int().min(0).max(1_000).default(0),
  /**
   * Pages go by position: if a machine ends, later machines move up. Reading a page ends the first machine.
   */
  shiftingPages: z.boolean().default(false),
  /** Listings show this state for every machine that has not ended. */
  wedgedState: z.enum(LIFECYCLE_STATES).nullable().default(null),
  /** Each listing moves `createdAt` of all machines by this much. */
  clockStepMs: Delay,
});
export type Faults = z.infer<typeof Faults>;

/** The calls of an honest cloud. It need not have consoles. */
export type Cloud = Pick<LoopbackCloud, "create" | "list" | "destroy" | "retag"> &
  Partial<Pick<LoopbackCloud, "console">>;

/** The parameters of a listing. */
interface ListRequest {
  tag?: { name: string; value: string } | undefined;
  cursor?: string | undefined;
}

/** Thrown to break the connection instead of answering. */
export class LostAnswer extends Error {
  override readonly name = "LostAnswer";
}

const STATUSES: Record<z.infer<typeof ProviderProblem>["class"], number> = {
  rate_limit: 429,
  quota: 403,
  capacity: 503,
  auth: 403,
  invalid: 400,
  temporary: 503,
};

/**
 * Adds faults to an honest cloud. Faults are only in memory, so a restart ends them, but it ends no machine.
 */
export class FaultyCloud {
  /** The faults that remain. */
  faults = Faults.parse({});
  readonly #cloud: Cloud;
  #steppedMs = 0;
  readonly #stuck = new Set<string>();

  constructor(cloud: Cloud) {
    this.#cloud = cloud;
  }

  /** Throws if the current call is to be refused. */
  admit(): void {
    refuse(this.faults.refusedCalls, "call");
  }

  create(request: CreateInstance): Instance {
    refuse(this.faults.refusedCreates, "create");
    const token = this.#strikes("duplicatedCreates") ? randomUUID() : request.token;
    const instance = this.#cloud.create({ ...request, token, userData: this.#userData(request) });
    if (this.#strikes("lostCreateAnswers")) throw new LostAnswer();
    return instance;
  }

  list({ tag, cursor }: ListRequest): InstancePage {
    const items = this.#listed(tag);
    const complete = !this.#strikes("unvouchedListings");
    const { pageSize, shiftingPages } = this.faults;
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

  console(id: string, mostBytes: number): ReturnType<LoopbackCloud["console"]> {
    return this.#cloud.console?.(id, mostBytes);
  }

  retag(id: string, tags: Record<string, string>): boolean {
    return this.#cloud.retag(id, tags);
  }

  /** What a listing shows now. */
  #listed(tag: ListRequest["tag"]): Instance[] {
    const { clockStepMs, listDelayMs } = this.faults;
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
    return this.#stuck.has(id) ? "stopping" : (this.faults.wedgedState ?? state);
  }

  #userData({ userData }: CreateInstance): string {
    if (this.#strikes("deadBoots")) return "while :; do sleep 1000; done\n";
    const { bootDelayMs } = this.faults;
    return bootDelayMs === 0 ? userData : `sleep ${bootDelayMs / 1_000}\n${userData}`;
  }

  /** Whether a fault happens now. If so, it is counted down. */
  #strikes(fault: keyof typeof COUNTED): boolean {
    if (this.faults[fault] === 0) return false;
    this.faults[fault] -= 1;
    return true;
  }
}

function refuse(refused: z.infer<typeof Refusals>, what: string): void {
  if (refused.times === 0) return;
  refused.times -= 1;
  const text = `This ${what} is refused on request (${refused.class}).`;
  throw new ProviderError(STATUSES[refused.class], refused.class, text, refused.retryAfterMs);
}
