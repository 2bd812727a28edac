import type { CreateInstance, Instance } from "../../schema/provider.ts";
import { backOffMs } from "../../shared/time/backoff.ts";
import type { Provider } from "../provider.ts";
import {
  type Call,
  type CallOf,
  callsOf,
  isAlive,
  isPassing,
  type Patience,
  type Transcript,
} from "./transcript.ts";

/** How often a call is made that is put off, and the longest that is waited for each time. */
export const MAX_TRIES = 5;
const LONGEST_PAUSE_MS = 60_000;
/** Looks at what exists already: an omission shows itself by a machine that comes back. */
const LOOKS = 3;

/** What the suite has of the world. */
export interface Means {
  /** Milliseconds on a clock that does not jump. */
  now(): number;
  /** Resolves after so many milliseconds, or as soon as the suite is told to end meanwhile. */
  pause(ms: number): Promise<void>;
  /** A name that nobody has used. */
  unique(): string;
  /** Whether nothing more is to be asked, but for the end of what was made. */
  over(): boolean;
}

/** What is tested. */
export interface Subject {
  provider: Provider;
  /** The same provider by a secret that is wrong. */
  stranger: Provider;
  /** `name:value`: listings of what exists already are made by it. */
  tag: string;
  /** The machine to create: its type, image, user data and resources. Null: nothing is created. */
  machine: Pick<CreateInstance, "instanceType" | "image" | "userData" | "resources"> | null;
  /** What it is to be held to. Absent: to the capabilities that the provider declares. */
  consistencyMs?: number;
  patience: Patience;
}

/** The tag of machines that this suite makes. No pool takes such a machine for its own. */
export const TEST_TAG = "drover-provider-test";

/** Makes the calls, and writes down each with its answer. It judges nothing. */
export class Talk {
  readonly transcript: Transcript;
  readonly #subject: Subject;
  readonly #means: Means;
  #wishes = 0;

  constructor(subject: Subject, means: Means) {
    const name = `drover-test-${means.unique()}`;
    this.#subject = subject;
    this.#means = means;
    const { machine, patience, provider } = subject;
    this.transcript = {
      calls: [],
      wanted: machine === null ? null : { ...machine, token: name, name, tags: { [TEST_TAG]: name } },
      ownTag: `${TEST_TAG}:${name}`,
      nobodysTag: `${TEST_TAG}:nobody-${means.unique()}`,
      nobody: `nobody-${means.unique()}`,
      consistencyMs: subject.consistencyMs ?? provider.capabilities.listConsistencyMs,
      patience,
    };
  }

  /** What changes nothing. Resolves with whether the provider can be asked what exists. */
  async look(): Promise<boolean> {
    for (let looks = 0; looks < LOOKS && !this.#means.over(); looks += 1) {
      const { answer } = await this.#list(this.#subject.tag);
      if (answer.kind === "failed") return false;
      await this.#means.pause(this.transcript.patience.lookMs);
    }
    await this.#list(this.transcript.nobodysTag);
    await this.#list(this.#subject.tag, "stranger");
    await this.#destroy(this.transcript.nobody);
    return true;
  }

  /** The life of one machine, if one is wanted. `end` must follow, whatever happens here. */
  async live(): Promise<void> {
    const { wanted } = this.transcript;
    if (wanted === null || this.#means.over()) return;
    const instance = await this.#createForCertain(wanted);
    if (instance === undefined) return;
    // The same token, twice at once: a message that the network has doubled.
    await Promise.all([this.#create(wanted), this.#create(wanted)]);
    await this.#watch(instance);
    if (this.#means.over()) return;
    await this.#destroyForCertain(instance);
    if (this.#means.over()) return;
    await this.#destroy(instance.id);
    await this.#create(wanted);
    await this.#means.pause(this.transcript.consistencyMs);
    await this.#list(this.transcript.ownTag);
  }

  /**
   * Ends whatever was made, also what came late or twice. Resolves with the ids of machines that live on, as
   * far as can be seen; undefined if it could not be seen.
   */
  async end(): Promise<string[] | undefined> {
    if (callsOf(this.transcript, "create").length === 0) return [];
    const { endMs, lookMs } = this.transcript.patience;
    const until = this.#means.now() + endMs;
    let left: string[] | undefined;
    let quiet = 0;
    for (;;) {
      await this.#means.pause(this.transcript.consistencyMs);
      const { answer } = await this.#list(this.transcript.ownTag);
      left = answer.kind === "listed" ? answer.items.filter(isAlive).map(({ id }) => id) : undefined;
      quiet = left?.length === 0 ? quiet + 1 : 0;
      // What is missing from a listing that is not whole may live.
      if (left?.length === 0 && answer.kind === "listed" && answer.partial !== undefined) left = undefined;
      if (quiet === 2 || this.#means.now() > until) return left;
      for (const id of left ?? []) await this.#destroy(id);
      await this.#means.pause(lookMs);
    }
  }

  /** Creates, and asks again by the same token while that may help. Between tries it looks. */
  async #createForCertain(wanted: CreateInstance): Promise<Instance | undefined> {
    const wish = this.#wish();
    for (let tries = 1; ; tries += 1) {
      const { answer } = await this.#createOnce(wish, wanted);
      if (answer.kind === "created") return answer.instance;
      const { failure } = answer;
      if (!isPassing(failure) || tries === MAX_TRIES || this.#means.over()) return undefined;
      await this.#means.pause(Math.max(this.transcript.consistencyMs, failure.retryAfterMs ?? 0));
      await this.#list(this.transcript.ownTag);
    }
  }

  /** Looks until the machine runs, and some times more. */
  async #watch({ id }: Instance): Promise<void> {
    const { listedMs, bootMs, lookMs } = this.transcript.patience;
    const beganAt = this.#means.now();
    for (let looks = 0; looks < LOOKS && !this.#means.over(); ) {
      const { answer } = await this.#list(this.transcript.ownTag);
      if (answer.kind === "failed") return;
      const shown = answer.items.find((instance) => instance.id === id);
      const waits = shown === undefined || shown.state === "pending";
      const until = beganAt + (shown === undefined ? listedMs : bootMs);
      if (!waits || this.#means.now() > until) looks += 1;
      await this.#means.pause(lookMs);
    }
  }

  /** Asks for the end of the machine, and looks until it has come; asks again only if it is not heeded. */
  async #destroyForCertain({ id }: Instance): Promise<void> {
    const { heedMs, endMs, lookMs } = this.transcript.patience;
    await this.#destroy(id);
    let askedAt = this.#means.now();
    const until = askedAt + endMs;
    let missing = 0;
    for (;;) {
      await this.#means.pause(lookMs);
      const { answer, beganAt } = await this.#list(this.transcript.ownTag);
      if (answer.kind === "failed" || this.#means.over() || beganAt > until) return;
      const shown = answer.items.find((instance) => instance.id === id);
      missing = shown === undefined ? missing + 1 : 0;
      if (missing === 2 || shown?.state === "terminated") return;
      if (shown?.state === "stopping") askedAt = Infinity;
      // A look has shown that it was not heeded: it is judged by that.
      if (beganAt - askedAt < heedMs) continue;
      await this.#destroy(id);
      askedAt = this.#means.now();
    }
  }

  #list(tag: string, by: "owner" | "stranger" = "owner"): Promise<CallOf<"list">> {
    const whom = by === "owner" ? this.#subject.provider : this.#subject.stranger;
    return this.#insist(async (wish) =>
      this.#noted({ call: "list", wish, tag, by, ...(await this.#timed(() => whom.list(tag))) }),
    );
  }

  #create(wanted: CreateInstance): Promise<CallOf<"create">> {
    return this.#insist((wish) => this.#createOnce(wish, wanted));
  }

  async #createOnce(wish: number, wanted: CreateInstance): Promise<CallOf<"create">> {
    const { provider } = this.#subject;
    return this.#noted({ call: "create", wish, ...(await this.#timed(() => provider.create(wanted))) });
  }

  #destroy(instance: string): Promise<CallOf<"destroy">> {
    const { provider } = this.#subject;
    return this.#insist(async (wish) =>
      this.#noted({
        call: "destroy",
        wish,
        instance,
        ...(await this.#timed(() => provider.destroy(instance))),
      }),
    );
  }

  /** Makes a call, and makes it again as long as it is put off. */
  async #insist<Made extends Call>(make: (wish: number) => Promise<Made>): Promise<Made> {
    const wish = this.#wish();
    for (let tries = 1; ; tries += 1) {
      const call = await make(wish);
      const { answer } = call;
      if (answer.kind !== "failed" || !isPassing(answer.failure) || tries === MAX_TRIES) return call;
      const waits = { firstMs: this.transcript.patience.lookMs * 2, longestMs: LONGEST_PAUSE_MS };
      const pauseMs = answer.failure.retryAfterMs ?? backOffMs(waits, tries);
      await this.#means.pause(Math.min(pauseMs, LONGEST_PAUSE_MS));
    }
  }

  async #timed<Answer>(ask: () => Promise<Answer>) {
    const beganAt = this.#means.now();
    const answer = await ask();
    return { beganAt, endedAt: this.#means.now(), answer };
  }

  #noted<Made extends Call>(call: Made): Made {
    this.transcript.calls.push(call);
    return call;
  }

  #wish(): number {
    this.#wishes += 1;
    return this.#wishes;
  }
}
