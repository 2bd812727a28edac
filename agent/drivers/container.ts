// How are commands run in containers? The engine keeps them alive while the agent is away.
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Duplex } from "node:stream";
import { removeGroup } from "../../posix/cgroup.ts";
import { isThere, readIfThere } from "../../posix/files.ts";
import { type ProcId, sendSignal } from "../../posix/proc.ts";
import type { Means } from "../../src/schema/host.ts";
import type { Container } from "../../src/schema/run/container.ts";
import type { SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import { bodyOf } from "../containers/body.ts";
import { bridgeWords } from "../containers/bridge.ts";
import { endedState, startErrorOfEngine } from "../containers/ends.ts";
import type { UsableEngine } from "../containers/engine-watch.ts";
import { killContained, type Victim } from "../containers/killing.ts";
import { type Need, removeWhole } from "../containers/leftovers.ts";
import { type ContainerNames, type FoundContainers, nameTaken } from "../containers/names.ts";
import {
  appendNote,
  FED,
  FEEDING,
  mainLine,
  noteOf,
  STARTING,
  tryAppendNote,
  wayOf,
} from "../containers/note.ts";
import { ownerOf } from "../containers/owner.ts";
import {
  asStartFault,
  BRIEF_MS,
  isAway,
  isUnheard,
  patiently,
  unlessStopped,
  within,
} from "../containers/patience.ts";
import { groupOf, mainOf, straysOf } from "../containers/place.ts";
import { Watching } from "../containers/watching.ts";
import type { Device } from "../core/devices/device.ts";
import { type AttemptJournal, isUntouched } from "../core/journal.ts";
import type { RawUsage } from "../core/types.ts";
import { containerDevices } from "../devices/container-devices.ts";
import { Engine } from "../engine/engine.ts";
import { EngineError } from "../engine/errors.ts";
import type { ContainerBody, ImageFacts } from "../engine/types.ts";
import { checkBinds } from "../exec/binds.ts";
import { markersOf } from "../exec/environment.ts";
import type { AllocDirs } from "../exec/files/alloc-dirs.ts";
import type { Prestart } from "../exec/prestart.ts";
import type { AttemptStore } from "../exec/processes/dirs.ts";
import type { Groups } from "../exec/processes/groups.ts";
import { type Inside, insideContainer } from "../exec/processes/inside.ts";
import { PeakKeeper } from "../exec/processes/peaks.ts";
import { measure } from "../exec/processes/usage.ts";
import { StartFault } from "../exec/start-fault.ts";
import type { Driver, KillResult, OnTaskEnd, RecoveredState } from "./driver.ts";

export interface ContainerDriverOptions {
  store: AttemptStore;
  allocs: AllocDirs;
  prestart: Pick<Prestart, "contained" | "give">;
  groups: Pick<Groups, "of" | "note" | "forget">;
  /** The engine that takes containers now. Throws a `StartFault`. */
  engine: () => UsableEngine;
  /** The engine, whether it answers or not; undefined: none was ever there. */
  known: () => Engine | undefined;
  /** Whether the engine answers now. */
  isUsable: () => boolean;
  names: ContainerNames;
  /** What was there when this agent started. Undefined: the engine did not say. */
  found: FoundContainers | undefined;
  /** Whether another agent may live, to which containers and their output belong (containers.md#lease). */
  isBeside: boolean;
  /** The image of an attempt, pulled if the machine lacks it. Rejects with a `StartFault`. */
  imageOf: (id: string, container: Container, stop: AbortSignal) => Promise<ImageFacts>;
  /** The devices that this host has assigned to an attempt. */
  devicesOf: (id: string) => readonly Device[];
  now: () => Instant;
  ended: OnTaskEnd;
}

/** Runs commands in containers of an engine, which outlive the agent and the engine's own service. */
export class ContainerDriver implements Driver {
  readonly #options: ContainerDriverOptions;
  readonly #running = new Map<string, Watching>();
  /** What attempts need of their containers, until a kill has shown that they have none. */
  readonly #needs = new Map<string, Need>();
  /** The connections to inputs. `cut`: one has ended before all of the input was passed on. */
  readonly #inputs = new Map<string, Duplex | "cut">();
  readonly #peaks: PeakKeeper;

  constructor(options: ContainerDriverOptions) {
    this.#options = options;
    this.#peaks = new PeakKeeper(options);
  }

  async start(id: string, task: TaskSpec, stop: AbortSignal): Promise<Means["kill"] | undefined> {
    this.#needs.set(id, "container");
    try {
      return await this.#start(id, task, stop);
    } catch (error) {
      // No kill waits for an engine: it looks for what the engine was asked for, and proves that it is gone.
      if (stop.aborted) return undefined;
      throw error;
    }
  }

  async #start(id: string, task: TaskSpec, stop: AbortSignal): Promise<Means["kill"] | undefined> {
    const { prestart, imageOf, names, store, devicesOf } = this.#options;
    const { container } = task;
    if (container === undefined) throw new Error(`attempt ${id} has no container`);
    // It was pulled while the attempt was prepared, so only an image that has gone since is pulled once more.
    const pull = container.pull === "always" ? "missing" : container.pull;
    const imageHere = () => imageOf(id, { ...container, pull }, stop);
    const image = await imageHere();
    const { engine, facts } = this.#options.engine();
    const launch = await prestart.contained(id, task, stop);
    checkBinds({ binds: container.binds, shared: launch.shared, socket: engine.socketPath });
    stop.throwIfAborted();
    const owner = `${process.geteuid?.() ?? 0}:${process.getegid?.() ?? 0}`;
    const devices = containerDevices(devicesOf(id), facts.engine === "podman" ? "podman" : "docker");
    const made = { ...launch, image: image.id, owner, labels: names.labelsOf(id), devices };
    const body = bodyOf(task, container, made, facts);
    writeFileSync(store.dirsOf(id).container, noteOf(engine.socketPath));
    let asked = false;
    let wasCut = false;
    try {
      await patiently(stop, () => this.#create(engine, id, body, imageHere, stop));
      const user = body.User ?? image.config.user;
      const account = await patiently(stop, () => ownerOf(engine, names.of(id), user));
      if (account !== undefined) await prestart.give(id, task, account, stop);
      const begin = () =>
        this.#begin(engine, id, task, stop, () => {
          asked = true;
        });
      // What nobody has heard may be asked again.
      await patiently(stop, begin, (error) => isAway(error) && (!asked || isUnheard(error)));
    } catch (error) {
      const fault = await unlessStopped(stop, this.#faultOf(engine, id, task, error, asked));
      if (fault !== undefined) throw fault;
      wasCut = isAway(error);
    }
    await this.#watch(id, task, engine, wasCut);
    return "cgroup";
  }

  /** Creates the container. One that an agent has left unstarted is made anew (containers.md#create). */
  async #create(
    engine: Engine,
    id: string,
    body: ContainerBody,
    pull: () => Promise<ImageFacts>,
    stop: AbortSignal,
  ): Promise<void> {
    const { names } = this.#options;
    const name = names.of(id);
    const left = await engine.inspectContainer(name);
    if (left !== undefined) {
      if (!names.isOf(id, left.labels)) throw nameTaken(name);
      await removeWhole(engine, left.id, stop);
    }
    stop.throwIfAborted();
    try {
      await engine.createContainer(name, body);
    } catch (error) {
      // Whatever the answer was: a container of this name with these labels is the one that was asked for.
      const made = await engine.inspectContainer(name);
      if (made !== undefined && names.isOf(id, made.labels)) return;
      if (!(error instanceof EngineError) || made !== undefined) throw error;
      // An engine that was killed as it made the container may hold its name, and only that.
      if (error.kind === "server") {
        await engine.removeContainer(name);
        await engine.createContainer(name, body);
        return;
      }
      if (error.kind !== "not_found") throw error;
      // Somebody has removed the image since it was looked for. What is pulled now may be another one.
      const { id: image } = await pull();
      stop.throwIfAborted();
      await engine.createContainer(name, { ...body, Image: image });
    }
  }

  /** Starts the container. `asked` is called before the engine is asked for that. */
  async #begin(
    engine: Engine,
    id: string,
    { stdin }: TaskSpec,
    stop: AbortSignal,
    asked: () => void,
  ): Promise<void> {
    const name = this.#options.names.of(id);
    if (stdin !== undefined) {
      const input = await engine.attachStdin(name);
      this.#inputs.set(
        id,
        input.on("error", () => void this.#inputEnded(engine, id, input)),
      );
      if (stop.aborted) input.destroy();
      stop.throwIfAborted();
      appendNote(this.#options.store.dirsOf(id), FEEDING);
      // Before the start, so that an agent that dies has passed on all of a short input. A command need not
      // read it, so nobody waits for that.
      input.end(stdin, (error?: Error | null) => {
        if (error == null) tryAppendNote(this.#options.store.dirsOf(id), FED);
      });
    }
    appendNote(this.#options.store.dirsOf(id), STARTING);
    asked();
    await engine.startContainer(name);
  }

  /**
   * The connection to the input of a container has ended before the input. That is fine if the command has
   * ended, or has closed its input. If the engine is gone, the command gets half of what it was to get.
   */
  async #inputEnded(engine: Engine, id: string, input: Duplex): Promise<void> {
    const facts = await engine.inspectContainer(this.#options.names.of(id)).catch(() => undefined);
    // A later try to start it has another one.
    if (this.#inputs.get(id) !== input) return;
    if (facts !== undefined && facts.state.status !== "created")
      return tryAppendNote(this.#options.store.dirsOf(id), FED);
    this.#inputs.set(id, "cut");
    this.#running.get(id)?.cutInput();
  }

  /** Why the start has failed; undefined: the container runs or has run, or nobody knows that yet. */
  async #faultOf(
    engine: Engine,
    id: string,
    task: TaskSpec,
    error: unknown,
    wasAsked: boolean,
  ): Promise<unknown> {
    const { names } = this.#options;
    if (!(error instanceof EngineError)) return error;
    const made = await engine.inspectContainer(names.of(id)).catch(() => undefined);
    const hasBegun = made !== undefined && names.isOf(id, made.labels) && made.state.startedAt !== undefined;
    if (hasBegun) return undefined;
    const isEngines = ["refused", "not_found", "server", "conflict"].includes(error.kind);
    // The engine may still be about to start it, so that a second start elsewhere would be one too many.
    if (!isEngines && wasAsked) return undefined;
    if (!isEngines) return asStartFault(error);
    const { code, text } = startErrorOfEngine(error, task.container?.entrypoint ?? task.argv);
    return new StartFault(code, text);
  }

  recover(id: string, journal: AttemptJournal): RecoveredState | undefined {
    const { store, names, isBeside, now } = this.#options;
    const { container, root } = store.dirsOf(id);
    const note = readIfThere(container);
    if (note === undefined) return undefined;
    const { isStarting, isHungry, socket } = wayOf(note);
    // Another engine knows nothing of it.
    const found = this.#options.found?.socket === socket ? this.#options.found : undefined;
    const listed = found?.listed.get(names.of(id));
    // A start that an earlier agent has asked for may only be about to happen.
    const hasBegun = listed !== undefined && (isStarting || listed.status !== "created");
    const engine = this.#engineOf(id);
    const mayBegin = !hasBegun && !isStarting && isUntouched(journal) && !isBeside;
    if (mayBegin && isThere(root) && store.retract(id)) return { kind: "unbegun" };
    this.#needs.set(id, "container");
    // Its end may have been told before the rest of its output was copied: the kill waits for that.
    const mayBeThere = listed !== undefined || found === undefined;
    if (mayBeThere && engine !== undefined) void this.#watch(id, undefined, engine);
    const { endedAt: at = 0, exit, startError } = journal;
    if (exit !== undefined) return { kind: "ended", at, exit };
    if (startError !== undefined) return { kind: "ended", at, startError };
    // Without the rest of its input a command does something else than it was asked for.
    if ((found !== undefined && !hasBegun) || engine === undefined || isHungry) return { kind: "lost" };
    const ended = found?.ended.get(names.of(id));
    const end = ended && endedState(ended.state, journal, { now: now(), clockMs: Date.now() });
    return end ?? { kind: "running" };
  }

  /** Follows a container until its end. Resolves once its first process is known, if it still runs. */
  async #watch(id: string, task: TaskSpec | undefined, engine: Engine, wasEngineDown = false): Promise<void> {
    const { store, names, now, ended, groups } = this.#options;
    const { argv = [], resources, memoryLimitBytes = resources?.memoryBytes ?? 0 } = task ?? {};
    const watching = new Watching({
      engine,
      name: names.of(id),
      dirs: store.dirsOf(id),
      argv: task?.container?.entrypoint ?? argv,
      limitBytes: memoryLimitBytes,
      wasEngineDown,
      now,
      known: { main: task === undefined ? this.#noteOf(id).main : undefined, group: groups.of(id) },
      copies: !this.#options.isBeside,
      find: (pid, container) => {
        const main = mainOf(pid, this.#marksOf(id));
        const group = main && groupOf(pid, container);
        if (group !== undefined) groups.note(id, group);
        if (main !== undefined) tryAppendNote(store.dirsOf(id), mainLine(main));
        return { main, group: group ?? groups.of(id) };
      },
      strays: () => straysOf(this.#marksOf(id)),
      ended: (end) => ended(id, end),
    });
    this.#running.set(id, watching);
    if (this.#inputs.get(id) === "cut") watching.cutInput();
    if (task !== undefined) this.#peaks.began(id);
    await watching.begin();
  }

  async signal(id: string, signal: SignalName, before = () => {}): Promise<void> {
    const { names } = this.#options;
    const watching = this.#running.get(id);
    const main: ProcId | undefined = await watching?.main();
    before();
    if (main !== undefined) return sendSignal(main.pid, signal);
    if (watching?.isOver !== false) return;
    // The kill that may follow does not wait for an engine.
    const killing = this.#engineOf(id)?.killContainer(names.of(id), signal);
    if (killing !== undefined) await within(BRIEF_MS, Promise.allSettled([killing]));
  }

  async kill(id: string, waitMs: Millis): Promise<KillResult> {
    const { groups, store, names, now, isBeside } = this.#options;
    const watching = this.#running.get(id);
    if (watching === undefined && !isThere(store.dirsOf(id).container)) {
      this.#needs.delete(id);
      return { killed: false };
    }
    const group = groups.of(id);
    if (group !== undefined) this.#peaks.beforeKill(id, group);
    const isOwn: Victim["isOwn"] = (labels) => names.isOf(id, labels);
    const strays = () => straysOf(this.#marksOf(id));
    const around = { engine: this.#engineOf(id), name: names.of(id), isOwn, group, strays, watching };
    const { killed, alive, stays } = await killContained({ ...around, stays: isBeside }, now() + waitMs, now);
    if (alive !== undefined) return { killed, alive };
    watching?.giveUp();
    // An engine whose own watcher of the container was killed leaves the cgroup behind.
    if (group !== undefined) removeGroup(group);
    groups.forget(id);
    this.#running.delete(id);
    if (stays && !isBeside) this.#needs.set(id, "removal");
    else this.#needs.delete(id);
    this.#inputs.delete(id);
    return watching === undefined ? { killed } : { killed, peaks: await this.#peaks.end(id) };
  }

  async inside(id: string): Promise<Inside | undefined> {
    const engine = this.#engineOf(id);
    const main = await this.#running.get(id)?.main();
    if (main === undefined || engine === undefined) return undefined;
    const ask = { socket: engine.socketPath, container: this.#options.names.of(id) };
    const program = [process.execPath, resolve(process.argv[1] ?? "")];
    const contained: Inside["contained"] = (argv, env, terminal) =>
      bridgeWords(program, { ...ask, argv, env, terminal });
    return insideContainer(contained, this.addressOf(id), this.#marksOf(id));
  }

  addressOf(id: string): string | null {
    return this.#running.get(id)?.address ?? null;
  }

  isAway(): boolean {
    return !this.#options.isUsable();
  }

  async insideKept(): Promise<Inside | undefined> {
    return undefined;
  }

  usage(ids: string[]): Record<string, RawUsage> {
    const { groups } = this.#options;
    const sources = ids.flatMap((id) => {
      const group = groups.of(id);
      return group === undefined ? [] : [[id, { group, shim: undefined }] as const];
    });
    const used = measure(new Map(sources));
    void this.#peaks.sampled(used);
    return used;
  }

  /** A container sees its directories under their own names, so no other host of this machine has these. */
  #marksOf(id: string): string[] {
    return markersOf(id, this.#options.allocs.of(id).local);
  }

  #noteOf(id: string) {
    return wayOf(readIfThere(this.#options.store.dirsOf(id).container) ?? "");
  }

  /** The engine that an attempt was given to, also while it is away; undefined: there is none. */
  #engineOf(id: string): Engine | undefined {
    const known = this.#options.known();
    const { socket = "" } = this.#noteOf(id);
    // Another engine knows nothing of the container, which proves nothing.
    return socket === "" || known?.socketPath === socket ? known : new Engine(socket);
  }

  /** What an attempt still needs of its container. */
  needOf(id: string): Need {
    return this.#needs.get(id) ?? "unknown";
  }
}
