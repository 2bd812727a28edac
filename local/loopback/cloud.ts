// How does this machine act as a cloud whose instances are process trees?
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Group } from "../../posix/cgroup.ts";
import { removeMemoryDir } from "../../posix/memory-dir.ts";
import { environmentOf, lives, readProc } from "../../posix/proc.ts";
import type { CreateInstance, Instance } from "../../src/schema/provider.ts";
import { endTree } from "../runtime/end-processes.ts";
import { endText } from "../runtime/watch-runtime.ts";
import { pathIn } from "../state/names.ts";
import { makeCgroup } from "./cgroup.ts";
import { consoleLogIn, readTail } from "./console-log.ts";
import { launch } from "./launch.ts";
import { cgroupName, type Entry, type Places, readLedger, writeCopy, writeLedger } from "./ledger.ts";
import { instancesBelow, markOf, rootBelow } from "./marks.ts";
import { ProviderError } from "./provider-error.ts";

/** How long an ended instance is listed as `terminated`, as clouds do, so that its end is seen. */
const LIST_ENDED_MS = 3_600_000;
/** How long a repeated create finds an ended instance by its token: as long as a worker's tombstone lasts. */
const REMEMBER_ENDED_MS = 24 * 3_600_000;
/** The pause before a failed kill is repeated. */
const RETRY_MS = 1_000;
/** How often the first process of an adopted instance is checked: it is not our child. */
const WATCH_EVERY_MS = 250;

export interface CloudOptions {
  /** The directory for the ledger and a directory for each instance. */
  dir: string;
  /** Called with a sentence when an instance cannot be ended. */
  onProblem(text: string): void;
  /** Called when a machine has ended by itself: `how` says in words what happened. */
  onDeath?(machine: { id: string; name: string; how: string }): void;
}

/**
 * A cloud on this machine: an instance is a tree of processes that can be found and ended as a whole.
 *
 * An instance becomes `terminated` only after a search has found none of its processes: the control plane
 * takes that state as proof that none of them runs (rules.md#r5, rules.md#invariant-3).
 */
export class LoopbackCloud {
  readonly #options: CloudOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #ending = new Map<string, Promise<void>>();
  readonly #watches = new Map<string, NodeJS.Timeout>();
  /** Entries whose last change is not on disk yet. */
  readonly #unwritten = new Set<Entry>();
  #failing = false;
  #isClosed = false;

  constructor(options: CloudOptions) {
    this.#options = options;
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
    for (const entry of readLedger(this.#places, options.onProblem)) this.#entries.set(entry.id, entry);
  }

  get #root(): string {
    return rootBelow(this.#options.dir);
  }

  get #places(): Places {
    return { ledger: pathIn(this.#options.dir, "instances.json"), instances: this.#root };
  }

  /** Boots an instance. The same token gives the same instance, even after its end. */
  create(request: CreateInstance): Instance {
    const known = [...this.#entries.values()].find(({ token }) => token === request.token);
    if (known !== undefined) return shown(known);
    if (this.#isClosed) throw new ProviderError(429, "rate_limit", "`drover up` is being stopped", 1_000);
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
    entry.cgroup = makeCgroup(cgroupName(id));
    try {
      // Stored before the instance exists: if we die in between, the next start still looks for it.
      this.#put(entry);
      this.#boot(entry, request);
    } catch (error) {
      void this.#end(entry);
      throw new ProviderError(503, "temporary", `The instance could not be started: ${String(error)}`);
    }
    return shown(entry);
  }

  /** All instances with the tag, including those that ended within the last hour. */
  list(tag?: { name: string; value: string }): Instance[] {
    this.#forgetOld();
    this.#writeUnwritten();
    const since = Date.now() - LIST_ENDED_MS;
    return [...this.#entries.values()]
      .filter(({ endedAtMs }) => endedAtMs === undefined || endedAtMs > since)
      .filter(({ tags }) => tag === undefined || tags[tag.name] === tag.value)
      .map(shown);
  }

  /** Begins to end an instance and to remove its directory. False if there is no instance with this id. */
  destroy(id: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    void this.#end(entry).then(() => this.#removeDir(id));
    return true;
  }

  /**
   * The end of what an instance has written, at most so many bytes. Undefined: there is no such instance, or
   * its directory is gone.
   */
  console(id: string, mostBytes: number): { text: string; truncated: boolean } | undefined {
    return this.#entries.has(id) ? readTail(consoleLogIn(this.#dirOf(id)), mostBytes) : undefined;
  }

  /** Replaces the tags. False if there is no instance with this id. */
  retag(id: string, tags: Record<string, string>): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    entry.tags = tags;
    this.#put(entry);
    return true;
  }

  /** The ids of the instances that are not terminated. */
  living(): string[] {
    return [...this.#entries.values()].filter(({ state }) => state !== "terminated").map(({ id }) => id);
  }

  /** Refuses every further create. */
  close(): void {
    this.#isClosed = true;
  }

  /**
   * Takes over the instances of a `drover up` that was killed. An instance continues if its first process
   * lives, which is identified by pid, start time, mark and directory, never by the pid alone. All other
   * instances are ended, and so are other processes with a mark of this directory. Resolves when that is
   * done.
   */
  async adopt(): Promise<void> {
    const former = [...this.#entries.values()].filter(({ state }) => state !== "terminated");
    const adopted = former.filter((entry) => this.#lives(entry));
    for (const entry of adopted) this.#watch(entry);
    await Promise.all(former.filter((entry) => !adopted.includes(entry)).map((entry) => this.#end(entry)));
    await endTree(
      instancesBelow(this.#options.dir, new Set(adopted.map(({ id }) => markOf(this.#dirOf(id))))),
    );
  }

  /** Leaves the instances running, for the next `drover up` to adopt. */
  detach(): void {
    for (const timer of this.#watches.values()) clearInterval(timer);
    this.#watches.clear();
  }

  /**
   * Ends every instance, and every other process with a mark of this directory. Resolves when no process is
   * left.
   */
  async endAll(): Promise<void> {
    await Promise.all([...this.#entries.values()].map((entry) => this.#end(entry)));
    await endTree(instancesBelow(this.#options.dir));
  }

  #lives({ id, state, root }: Entry): boolean {
    if (state !== "running" || root === undefined || !lives(root)) return false;
    return environmentOf(root.pid).includes(markOf(this.#dirOf(id))) && existsSync(this.#dirOf(id));
  }

  #watch(entry: Entry): void {
    const { id, root } = entry;
    const look = () => {
      try {
        if (root !== undefined && lives(root)) return;
      } catch {
        return; // it cannot be checked now; the next check decides
      }
      this.#reportDeath(entry, endText(null, null));
      void this.#end(entry);
    };
    this.#watches.set(id, setInterval(look, WATCH_EVERY_MS).unref());
  }

  #boot(entry: Entry, request: CreateInstance): void {
    const child = launch(this.#dirOf(entry.id), request, entry.cgroup, pathIn(this.#options.dir, "awake"));
    child.once("error", () => void this.#end(entry));
    child.once("exit", (code, signal) => {
      // An agent that is no longer needed exits with 0, and its machine ends with it.
      if (code !== 0) this.#reportDeath(entry, endText(code, signal));
      void this.#end(entry);
    });
    child.unref();
    if (child.pid === undefined) throw new Error("this machine can start no more processes");
    const root = readProc(child.pid);
    if (root !== undefined) entry.root = { pid: root.pid, startTime: root.startTime };
    entry.state = "running";
    this.#put(entry);
  }

  #reportDeath({ id, name, state }: Entry, how: string): void {
    if (state === "running") this.#options.onDeath?.({ id, name, how });
  }

  /** Ends an instance, however long that takes. A second call during that time waits for the same end. */
  #end(entry: Entry): Promise<void> {
    if (entry.state === "terminated") return Promise.resolve();
    const ending = this.#ending.get(entry.id) ?? this.#endWithProof(entry);
    this.#ending.set(entry.id, ending);
    return ending;
  }

  async #endWithProof(entry: Entry): Promise<void> {
    clearInterval(this.#watches.get(entry.id));
    this.#watches.delete(entry.id);
    entry.state = "stopping";
    // Stored first, so that no later start adopts an instance that was meant to end.
    this.#note(entry);
    for (;;) {
      try {
        await this.#killAll(entry);
        removeMemoryDir(join(this.#dirOf(entry.id), "agent", "secrets"));
        break;
      } catch (error) {
        this.#options.onProblem(`Machine ${entry.id} cannot be ended yet. ${String(error)}`);
        await sleep(RETRY_MS);
      }
    }
    entry.endedAtMs = Date.now();
    entry.state = "terminated";
    this.#note(entry);
    this.#ending.delete(entry.id);
  }

  async #killAll({ id, cgroup, root }: Entry): Promise<void> {
    const group: Group | undefined =
      cgroup === undefined ? undefined : { folders: [{ path: cgroup, version: 2 }] };
    const mark = markOf(this.#dirOf(id));
    await endTree({ isMarked: (environment) => environment.includes(mark), root }, group);
  }

  /**
   * Stores the end of an instance, or retries later: a full disk must neither keep a machine running nor make
   * `drover up` wait. If this process dies before the end is stored, the next start ends the instance again.
   */
  #note(entry: Entry): void {
    this.#unwritten.add(entry);
    this.#writeUnwritten();
  }

  #writeUnwritten(): void {
    try {
      for (const entry of this.#unwritten) {
        this.#put(entry);
        this.#unwritten.delete(entry);
      }
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) this.#options.onProblem(`The list of machines cannot be stored. ${String(error)}`);
      this.#failing = true;
    }
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
      this.#options.onProblem(`The directory of machine ${id} cannot be removed. ${String(error)}`);
    }
  }

  #dirOf(id: string): string {
    return join(this.#root, id);
  }

  #put(entry: Entry): void {
    this.#entries.set(entry.id, entry);
    writeLedger(this.#places, this.#entries.values());
    writeCopy(this.#places, entry);
  }
}

/** An instance as the contract shows it. */
function shown({ id, name, address, state, instanceType, tags, createdAt }: Entry): Instance {
  return { id, name, address, state, instanceType, tags, createdAt };
}
