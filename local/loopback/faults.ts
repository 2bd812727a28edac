import { z } from "zod";
import { type CreateInstance, type Instance, ProviderProblem } from "../../src/schema/provider.ts";
import type { LoopbackCloud } from "./cloud.ts";
import { ProviderError } from "./provider-error.ts";

/** How often something is to go wrong from now on. */
const Times = z.int().min(0).max(1_000).default(0);
const Pause = z.int().min(0).max(3_600_000);
const Delay = Pause.default(0);

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
  refusedCreates: z
    .strictObject({
      times: Times,
      class: ProviderProblem.shape.class.default("temporary"),
      retryAfterMs: Pause.optional(),
    })
    .prefault({}),
  /** Listings show a machine only this long after its create. */
  listDelayMs: Delay,
  /** The next listings, though they say that they are complete, lack every machine that exists. */
  omittingListings: Times,
  /** The next destroys are answered as if they were heeded. */
  ignoredDestroys: Times,
});
export type Faults = z.infer<typeof Faults>;

/** What the provider contract has for calls: an honest cloud, or one with faults. */
export type Cloud = Pick<LoopbackCloud, "create" | "list" | "destroy" | "retag">;

/** Thrown instead of an answer: the connection is to be broken. */
export class LostAnswer extends Error {
  override readonly name = "LostAnswer";
}

const STATUSES: Record<Faults["refusedCreates"]["class"], number> = {
  rate_limit: 429,
  quota: 403,
  capacity: 503,
  invalid: 400,
  temporary: 503,
};

/** A cloud between its callers and an honest one. Faults are forgotten when it ends, and machines are not. */
export class FaultyCloud implements Cloud {
  readonly #cloud: Cloud;
  #faults = Faults.parse({});

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

  create(request: CreateInstance): Instance {
    const { refusedCreates: refused } = this.#faults;
    if (refused.times > 0) {
      refused.times -= 1;
      const text = `It was told to refuse this create (${refused.class}).`;
      throw new ProviderError(STATUSES[refused.class], refused.class, text, refused.retryAfterMs);
    }
    const instance = this.#cloud.create({ ...request, userData: this.#userData(request) });
    if (this.#strikes("lostCreateAnswers")) throw new LostAnswer();
    return instance;
  }

  list(tag?: { name: string; value: string }): Instance[] {
    const omits = this.#strikes("omittingListings");
    const listedSince = Date.now() - this.#faults.listDelayMs;
    return this.#cloud
      .list(tag)
      .filter(({ createdAt }) => Date.parse(createdAt) <= listedSince)
      .filter(({ state }) => !omits || state === "terminated");
  }

  destroy(id: string): boolean {
    if (!this.#strikes("ignoredDestroys")) return this.#cloud.destroy(id);
    return this.#cloud.list().some((instance) => instance.id === id);
  }

  retag(id: string, tags: Record<string, string>): boolean {
    return this.#cloud.retag(id, tags);
  }

  #userData({ userData }: CreateInstance): string {
    if (this.#strikes("deadBoots")) return "while :; do sleep 1000; done\n";
    const { bootDelayMs } = this.#faults;
    return bootDelayMs === 0 ? userData : `sleep ${bootDelayMs / 1_000}\n${userData}`;
  }

  /** Whether a fault is to happen now; then once less from now on. */
  #strikes(fault: "deadBoots" | "lostCreateAnswers" | "omittingListings" | "ignoredDestroys"): boolean {
    if (this.#faults[fault] === 0) return false;
    this.#faults[fault] -= 1;
    return true;
  }
}
