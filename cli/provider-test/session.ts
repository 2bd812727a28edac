// Which calls does the test make, and in what order?
import type { KnownMachine, Provider } from "../../src/providers/provider.ts";
import type { CreateInstance, Instance } from "../../src/schema/provider.ts";
import { TRAITS } from "../../src/shared/cloud/kinds.ts";
import { backOffMs } from "../../src/shared/time/backoff.ts";
import {
  type Call,
  type CallOf,
  callsOf,
  isAlive,
  isPassing,
  type Patience,
  type Transcript,
} from "./transcript.ts";

/** The most tries of a call that the provider refuses temporarily, and the longest pause before a retry. */
export const MAX_TRIES = 5;
const LONGEST_PAUSE_MS = 60_000;
/** The number of listings: enough to notice a machine that only the middle listing omits. */
const LOOKS = 3;

/** The clock, names and interruptions of a test. */
export interface TestEnvironment {
  /** Milliseconds on a clock that does not jump. */
  now(): number;
  /** Resolves after `ms` milliseconds, or as soon as the test is interrupted. */
  pause(ms: number): Promise<void>;
  /** A name that is used nowhere else. */
  unique(): string;
  /** Whether the user has interrupted the test. After an interrupt, the test just destroys its machines. */
  interrupted(): boolean;
}

/** What to test. */
export interface Subject {
  provider: Provider;
  /** The same provider, called with a wrong secret. */
  stranger: Provider;
  /** `name:value`, the tag by which existing machines are listed. */
  tag: string;
  /** The machine to create: its type, image, user data and resources. Null: nothing is created. */
  machine: Pick<CreateInstance, "instanceType" | "image" | "userData" | "resources" | "spot"> | null;
  /** How soon a listing must show a change. Default: as the provider's capabilities say. */
  consistencyMs?: number;
  /** The name of a machine is free again once the machine has ended, so that its token makes another one. */
  freesNames?: true;
  patience: Patience;
}

/** What the record of a create call says of the request. */
type Mark = Pick<CallOf<"create">, "other">;

/** A type that no provider offers, in a form that all accept. */
const NO_TYPE = "drover-no-such-type";

/** A machine as the test knows it: by its id alone. */
function known(id: string): KnownMachine {
  return { worker: "", id, zone: null };
}

/** The tag of the test's machines. No pool considers a machine with this tag its own. */
const TEST_TAG = "drover-provider-test";

/** Makes the calls and records each with its answer, without judging anything. */
export class TestSession {
  readonly transcript: Transcript;
  readonly #subject: Subject;
  readonly #environment: TestEnvironment;
  #requests = 0;

  constructor(subject: Subject, environment: TestEnvironment) {
    const name = `drover-test-${environment.unique()}`;
    this.#subject = subject;
    this.#environment = environment;
    const { machine, patience } = subject;
    this.transcript = {
      calls: [],
      wanted: machine === null ? null : { ...machine, token: name, name, tags: { [TEST_TAG]: name } },
      ownTag: `${TEST_TAG}:${name}`,
      unusedTag: `${TEST_TAG}:nobody-${environment.unique()}`,
      missingId: `nobody-${environment.unique()}`,
      consistencyMs: subject.consistencyMs ?? TRAITS.http.listConsistencyMs,
      patience,
    };
  }

  /** Makes the calls that change nothing. Resolves with whether the provider answers listings. */
  async readOnly(): Promise<boolean> {
    for (let looks = 0; looks < LOOKS && !this.#environment.interrupted(); looks += 1) {
      const { answer } = await this.#list(this.#subject.tag);
      if (answer.kind === "failed") return false;
      await this.#environment.pause(this.transcript.patience.lookMs);
    }
    await this.#list(this.transcript.unusedTag);
    await this.#list(this.#subject.tag, "stranger");
    await this.#destroy(this.transcript.missingId);
    return true;
  }

  /**
   * Creates, watches and destroys the machine to test with, if any. The caller must always call `cleanUp`
   * next.
   */
  async machineLife(): Promise<void> {
    const { wanted } = this.transcript;
    if (wanted === null || this.#environment.interrupted()) return;
    const impossible = {
      ...wanted,
      token: `${wanted.token}-no`,
      name: `${wanted.name}-no`,
      instanceType: NO_TYPE,
    };
    await this.#create(impossible, { other: "type" });
    if (this.#environment.interrupted()) return;
    const instance = await this.#createWithRetries(wanted);
    if (instance === undefined) return;
    // Send the same token twice at the same time, as if the network had duplicated a message.
    await Promise.all([this.#create(wanted), this.#create(wanted)]);
    await this.#watch(instance);
    if (this.#environment.interrupted()) return;
    const userData = `${wanted.userData}# another request\n`;
    await this.#create({ ...wanted, userData }, { other: "request" });
    await this.#destroyWithRetries(instance);
    if (this.#environment.interrupted()) return;
    await this.#destroy(instance.id);
    if (this.#subject.freesNames === undefined) await this.#create(wanted);
    await this.#environment.pause(this.transcript.consistencyMs);
    await this.#list(this.transcript.ownTag);
  }

  /**
   * Destroys all machines of the test, including late and duplicate machines. Resolves with the ids of the
   * machines that remain; undefined if the last listing does not show whether any machine remains.
   */
  async cleanUp(): Promise<string[] | undefined> {
    if (callsOf(this.transcript, "create").length === 0) return [];
    const { endMs, lookMs } = this.transcript.patience;
    const until = this.#environment.now() + endMs;
    let left: string[] | undefined;
    let quiet = 0;
    for (;;) {
      await this.#environment.pause(this.transcript.consistencyMs);
      const { answer } = await this.#list(this.transcript.ownTag);
      left = answer.kind === "listed" ? answer.items.filter(isAlive).map(({ id }) => id) : undefined;
      quiet = left?.length === 0 ? quiet + 1 : 0;
      // A machine that is missing from an incomplete listing may be alive.
      if (left?.length === 0 && answer.kind === "listed" && answer.partial !== undefined) left = undefined;
      if (quiet === 2 || this.#environment.now() > until) return left;
      for (const id of left ?? []) await this.#destroy(id);
      await this.#environment.pause(lookMs);
    }
  }

  /**
   * Creates a machine. After a temporary failure, lists the machines and repeats the call with the same
   * token.
   */
  async #createWithRetries(wanted: CreateInstance): Promise<Instance | undefined> {
    const request = this.#nextRequest();
    const until = this.#environment.now() + this.transcript.patience.bootMs;
    for (let tries = 1; ; tries += 1) {
      const { answer } = await this.#createOnce(request, wanted);
      if (answer.kind === "created") return answer.instance;
      if (answer.kind === "pending") {
        if (this.#environment.now() > until || this.#environment.interrupted()) return undefined;
        await this.#environment.pause(answer.retryAfterMs);
        tries -= 1;
        continue;
      }
      const { failure } = answer;
      if (!isPassing(failure) || tries === MAX_TRIES || this.#environment.interrupted()) return undefined;
      await this.#environment.pause(Math.max(this.transcript.consistencyMs, failure.retryAfterMs ?? 0));
      await this.#list(this.transcript.ownTag);
    }
  }

  /** Lists the test's machines until the new machine runs, and then a few times more. */
  async #watch({ id }: Instance): Promise<void> {
    const { listedMs, bootMs, lookMs } = this.transcript.patience;
    const beganAt = this.#environment.now();
    for (let looks = 0; looks < LOOKS && !this.#environment.interrupted(); ) {
      const { answer } = await this.#list(this.transcript.ownTag);
      if (answer.kind === "failed") return;
      const shown = answer.items.find((instance) => instance.id === id);
      const waits = shown === undefined || shown.state === "pending";
      const until = beganAt + (shown === undefined ? listedMs : bootMs);
      if (!waits || this.#environment.now() > until) looks += 1;
      await this.#environment.pause(lookMs);
    }
  }

  /**
   * Destroys the machine and lists until it has ended. Repeats the destroy call only if the call had no
   * effect.
   */
  async #destroyWithRetries({ id }: Instance): Promise<void> {
    const { heedMs, endMs, lookMs } = this.transcript.patience;
    await this.#destroy(id);
    let askedAt = this.#environment.now();
    const until = askedAt + endMs;
    let missing = 0;
    for (;;) {
      await this.#environment.pause(lookMs);
      const { answer, beganAt } = await this.#list(this.transcript.ownTag);
      if (answer.kind === "failed" || this.#environment.interrupted() || beganAt > until) return;
      const shown = answer.items.find((instance) => instance.id === id);
      missing = shown === undefined ? missing + 1 : 0;
      if (missing === 2 || shown?.state === "terminated") return;
      if (shown?.state === "stopping") askedAt = Infinity;
      // Now the checks have a listing that shows, after `heedMs`, that the call had no effect. So repeat the
      // call.
      if (beganAt - askedAt < heedMs) continue;
      await this.#destroy(id);
      askedAt = this.#environment.now();
    }
  }

  #list(tag: string, by: "owner" | "stranger" = "owner"): Promise<CallOf<"list">> {
    const whom = by === "owner" ? this.#subject.provider : this.#subject.stranger;
    return this.#retry(async (request) =>
      this.#record({ call: "list", request, tag, by, ...(await this.#timed(() => whom.list(tag, []))) }),
    );
  }

  /** Makes the call, and repeats it as long as the provider still works on it. */
  async #create(wanted: CreateInstance, mark: Mark = {}): Promise<CallOf<"create">> {
    const until = this.#environment.now() + this.transcript.patience.bootMs;
    for (;;) {
      const call = await this.#retry((request) => this.#createOnce(request, wanted, mark));
      const { answer } = call;
      const isOver = this.#environment.now() > until || this.#environment.interrupted();
      if (answer.kind !== "pending" || isOver) return call;
      await this.#environment.pause(answer.retryAfterMs);
    }
  }

  async #createOnce(request: number, wanted: CreateInstance, mark: Mark = {}): Promise<CallOf<"create">> {
    const { provider } = this.#subject;
    const timed = await this.#timed(() => provider.create(wanted));
    return this.#record({ call: "create", request, ...mark, ...timed });
  }

  #destroy(instance: string): Promise<CallOf<"destroy">> {
    const { provider } = this.#subject;
    return this.#retry(async (request) =>
      this.#record({
        call: "destroy",
        request,
        instance,
        ...(await this.#timed(() => provider.destroy(known(instance)))),
      }),
    );
  }

  /** Makes a call, and repeats it while the provider refuses it temporarily. */
  async #retry<Made extends Call>(make: (request: number) => Promise<Made>): Promise<Made> {
    const request = this.#nextRequest();
    for (let tries = 1; ; tries += 1) {
      const call = await make(request);
      const { answer } = call;
      if (answer.kind !== "failed" || !isPassing(answer.failure) || tries === MAX_TRIES) return call;
      const waits = { firstMs: this.transcript.patience.lookMs * 2, longestMs: LONGEST_PAUSE_MS };
      const pauseMs = answer.failure.retryAfterMs ?? backOffMs(waits, tries);
      await this.#environment.pause(Math.min(pauseMs, LONGEST_PAUSE_MS));
    }
  }

  async #timed<Answer>(ask: () => Promise<Answer>) {
    const beganAt = this.#environment.now();
    const answer = await ask();
    return { beganAt, endedAt: this.#environment.now(), answer };
  }

  #record<Made extends Call>(call: Made): Made {
    this.transcript.calls.push(call);
    return call;
  }

  #nextRequest(): number {
    this.#requests += 1;
    return this.#requests;
  }
}
