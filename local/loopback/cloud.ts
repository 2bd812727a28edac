import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CreateInstance, Instance } from "../../src/schema/provider.ts";
import { endTree, findTree, killNow, type Tree } from "../end-processes.ts";
import { readProcess } from "../processes.ts";
import { endCgroup, makeCgroup } from "./cgroup.ts";
import { launch, MARK } from "./launch.ts";
import { type Entry, readLedger, writeLedger } from "./ledger.ts";
import { ProviderError } from "./provider-error.ts";

/**
 * How long an ended instance is listed as `terminated` (as clouds do, so that its end is seen and not
 * inferred).
 */
const LIST_ENDED_MS = 3_600_000;
/** How long its token finds it: no create may be repeated later (a worker's tombstone lives as long). */
const REMEMBER_ENDED_MS = 24 * 3_600_000;
/** The pause before a kill that did not work is tried again. */
const RETRY_MS = 1_000;

export interface CloudOptions {
  /** Where the ledger and a directory for each instance are kept. */
  dir: string;
  /** Told, in a sentence, when an instance cannot be ended. */
  onProblem(text: string): void;
}

/**
 * A cloud on this machine: an instance is a subtree of processes that can be found and ended whole.
 *
 * An instance is `terminated` only after a look has found none of its processes: the control plane takes that
 * word as proof that nothing of it runs any more (`architecture.md` R5, invariant 3).
 */
export class LoopbackCloud {
  readonly #options: CloudOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #ending = new Map<string, Promise<void>>();

  constructor(options: CloudOptions) {
    this.#options = options;
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
    for (const entry of readLedger(this.#ledger, options.onProblem)) this.#entries.set(entry.id, entry);
  }

  get #root(): string {
    return rootBelow(this.#options.dir);
  }

  get #ledger(): string {
    return join(this.#options.dir, "instances.json");
  }

  /** Boots an instance. The same token gives the same instance, also after its end. */
  create(request: CreateInstance): Instance {
    const known = [...this.#entries.values()].find(({ token }) => token === request.token);
    if (known !== undefined) return shown(known);
    const id = `lo-${randomBytes(8).toString("hex")}`;
    const { token, name, instanceType, tags } = request;
    const createdAt = new Date().toISOString();
    const entry: Entry = {
      id,
      token,
      name,
      instanceType,
      tags,
      createdAt,
      address: "127.0.0.1",
      state: "pending",
    };
    entry.cgroup = makeCgroup(`drover-${id}`);
    try {
      // Written down before it exists: if we die in between, the next start still looks for it.
      this.#put(entry);
      this.#boot(entry, request);
    } catch (error) {
      void this.#end(entry);
      throw new ProviderError(503, "temporary", `The instance could not be started: ${String(error)}`);
    }
    return shown(entry);
  }

  /** All instances that carry the tag, those that ended within the last hour too. */
  list(tag?: { name: string; value: string }): Instance[] {
    this.#forgetOld();
    const since = Date.now() - LIST_ENDED_MS;
    return [...this.#entries.values()]
      .filter(({ endedAtMs }) => endedAtMs === undefined || endedAtMs > since)
      .filter(({ tags }) => tag === undefined || tags[tag.name] === tag.value)
      .map(shown);
  }

  /** Begins to end an instance and removes its directory. False if there is none with this id. */
  destroy(id: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    void this.#end(entry).then(() => this.#removeDir(id));
    return true;
  }

  /** Replaces the tags. False if there is no instance with this id. */
  retag(id: string, tags: Record<string, string>): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    entry.tags = tags;
    this.#put(entry);
    return true;
  }

  /** How many instances are not terminated. */
  alive(): number {
    return [...this.#entries.values()].filter(({ state }) => state !== "terminated").length;
  }

  /** Ends every instance, and whatever else carries a mark of this directory. Resolves when none is left. */
  async endAll(): Promise<void> {
    await Promise.all([...this.#entries.values()].map((entry) => this.#end(entry)));
    await endTree(instancesBelow(this.#options.dir));
  }

  #boot(entry: Entry, request: CreateInstance): void {
    const child = launch(this.#dirOf(entry.id), request, entry.cgroup);
    child.once("error", () => void this.#end(entry));
    child.once("exit", () => void this.#end(entry));
    child.unref();
    const root = child.pid === undefined ? undefined : readProcess(child.pid);
    if (root !== undefined) entry.root = { pid: root.pid, startTicks: root.startTicks };
    entry.state = "running";
    this.#put(entry);
  }

  /**
   * Ends an instance for certain, however long that takes. Whoever asks while it ends waits for the same end.
   */
  #end(entry: Entry): Promise<void> {
    if (entry.state === "terminated") return Promise.resolve();
    const ending = this.#ending.get(entry.id) ?? this.#endForCertain(entry);
    this.#ending.set(entry.id, ending);
    return ending;
  }

  async #endForCertain(entry: Entry): Promise<void> {
    for (;;) {
      // Not written down: whoever finds it in the ledger, in whatever state but the last, ends it anyway.
      entry.state = "stopping";
      try {
        await this.#killAll(entry);
        entry.endedAtMs = Date.now();
        entry.state = "terminated";
        this.#put(entry);
        break;
      } catch (error) {
        this.#options.onProblem(`Machine ${entry.id} cannot be ended yet. ${String(error)}`);
        await sleep(RETRY_MS);
      }
    }
    this.#ending.delete(entry.id);
  }

  async #killAll({ id, cgroup, root }: Entry): Promise<void> {
    if (cgroup !== undefined) await endCgroup(cgroup);
    const mark = `${MARK}=${this.#dirOf(id)}`;
    await endTree({ isMark: (text) => text === mark, root, family: true });
  }

  #forgetOld(): void {
    const before = Date.now() - REMEMBER_ENDED_MS;
    for (const { id, endedAtMs } of [...this.#entries.values()]) {
      if (endedAtMs === undefined || endedAtMs > before) continue;
      this.#entries.delete(id);
      this.#removeDir(id);
    }
  }

  #removeDir(id: string): void {
    try {
      rmSync(this.#dirOf(id), { recursive: true, force: true });
    } catch (error) {
      this.#options.onProblem(`What machine ${id} left behind cannot be removed. ${String(error)}`);
    }
  }

  #dirOf(id: string): string {
    return join(this.#root, id);
  }

  #put(entry: Entry): void {
    this.#entries.set(entry.id, entry);
    writeLedger(this.#ledger, this.#entries.values());
  }
}

/**
 * Sends SIGKILL once to all that runs for the cloud of a directory, without proof: for who cannot wait for
 * that.
 */
export function killInstancesBelow(dir: string): void {
  for (const { pid } of findTree(instancesBelow(dir))) killNow(pid);
}

function instancesBelow(dir: string): Tree {
  const mark = `${MARK}=${rootBelow(dir)}/`;
  return { isMark: (entry) => entry.startsWith(mark), family: true };
}

function rootBelow(dir: string): string {
  return join(dir, "instances");
}

/** What the contract shows of an instance. */
function shown({ id, name, address, state, instanceType, tags, createdAt }: Entry): Instance {
  return { id, name, address, state, instanceType, tags, createdAt };
}
