// What does the agent need for containers, from its start on (containers.md#engines)?
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HostEngine } from "../../src/schema/host.ts";
import type { Container } from "../../src/schema/run/container.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { ContainerDriver, type ContainerDriverOptions } from "../drivers/container.ts";
import type { Engine } from "../engine/engine.ts";
import type { ContainerFacts, EngineFacts, ImageFacts, RegistryAuth } from "../engine/types.ts";
import { StartFault } from "../exec/start-fault.ts";
import { EngineWatch, type UsableEngine } from "./engine-watch.ts";
import { ImageUse } from "./image-use.ts";
import { Images } from "./images.ts";
import { removeLeftovers } from "./leftovers.ts";
import { ContainerNames, type FoundContainers } from "./names.ts";
import { isTorture, PROBE_IMAGE, probeBody, TORTURE } from "./output/probe.ts";
import { asStartFault, isAway, patiently, within } from "./patience.ts";

/** A registry sends many pieces a second: what is told of them need not keep up. */
const PROGRESS_MS: Millis = 1_000;
/** How long the start of the agent may wait for an engine: the lease is not enforced before (rule R4). */
const FIRST_LOOK_MS: Millis = 2_000;

export interface ContainersOptions {
  stateDir: string;
  /** This boot of the machine. */
  boot: string;
  /** See `EngineWatchOptions`. */
  socket: string | undefined;
  /** The credentials with which an attempt's image is pulled. Throws a `StartFault`. */
  authOf: (id: string, container: Container) => RegistryAuth | undefined;
  /** Says what is done for an attempt before its start, or which image it has. */
  tell: (id: string, said: { doing?: string; image?: string }) => void;
  /** Called when there is news of the engine. */
  changed: (engine: HostEngine | undefined) => void;
}

/** What the driver gets from here. */
type Derived = "engine" | "isUsable" | "known" | "names" | "found" | "imageOf";

/** The parts of the agent that know of containers. */
export class Containers {
  readonly #options: ContainersOptions;
  readonly #engines: EngineWatch;
  readonly #names: ContainerNames;
  readonly #images: Images;
  /** What was there when this agent started. Undefined: the engine did not say. */
  #found: FoundContainers | undefined;
  #isSweeping = false;
  #driver: ContainerDriver | undefined;

  private constructor(options: ContainersOptions) {
    const { stateDir, boot, socket, changed } = options;
    this.#options = options;
    this.#names = new ContainerNames(stateDir, boot);
    this.#images = new Images(new ImageUse(stateDir));
    this.#engines = new EngineWatch({
      socket,
      logsOf: (engine, facts) => this.#logsOf(engine, facts),
      changed,
      usable: (usable) => void this.#sweep(usable),
    });
  }

  /** Looks for the engine and for the containers of earlier starts of the agent. Never rejects. */
  static async open(options: ContainersOptions): Promise<Containers> {
    const containers = new Containers(options);
    const until = performance.now() + FIRST_LOOK_MS;
    await containers.#engines.open(FIRST_LOOK_MS);
    await within(Math.max(0, until - performance.now()), containers.#list());
    return containers;
  }

  /** Looks after the engine from now on: not before the attempts of earlier starts are recovered. */
  begin(): void {
    this.#engines.begin();
  }

  /** The engine as it is reported; undefined: there is none. */
  get shown(): HostEngine | undefined {
    return this.#engines.shown;
  }

  /** Makes sure that the image of an attempt is here. Rejects with a `StartFault`, or the signal's reason. */
  async imageOf(id: string, container: Container, signal: AbortSignal): Promise<ImageFacts> {
    const { authOf, tell } = this.#options;
    const auth = authOf(id, container);
    let toldAt = Number.NEGATIVE_INFINITY;
    const progress = (doing: string) => {
      if (performance.now() - toldAt < PROGRESS_MS) return;
      toldAt = performance.now();
      tell(id, { doing });
    };
    const ensure = async () => {
      const { engine } = await this.#usableSoon();
      return this.#images.ensure(engine, { container, auth, signal, progress });
    };
    const isDown = (error: unknown) => isAway(error) || this.#engines.shown?.state === "down";
    const image = await patiently(signal, ensure, isDown).catch((error) => {
      throw asStartFault(error);
    });
    tell(id, { image: image.repoDigests[0] ?? image.id });
    return image;
  }

  /** The driver, of which there is one. */
  driver(options: Omit<ContainerDriverOptions, Derived>) {
    this.#driver = new ContainerDriver({
      ...options,
      engine: () => this.#usable(),
      isUsable: () => this.#engines.usable !== undefined,
      known: () => this.#engines.known,
      names: this.#names,
      found: this.#found,
      imageOf: (...image) => this.imageOf(...image),
    });
    return this.#driver;
  }

  async #list(): Promise<void> {
    try {
      const { engine } = this.#engines.usable ?? {};
      if (engine === undefined) return;
      const listed = await engine.listContainers(this.#names.own);
      const over = listed.filter(({ status }) => status === "exited" || status === "dead");
      const inspected = await Promise.all(over.map(({ id }) => engine.inspectContainer(id)));
      const ended = new Map<string, ContainerFacts>();
      for (const one of inspected) if (one !== undefined) ended.set(one.name, one);
      const byName = new Map(listed.map((one) => [one.name, one]));
      this.#found = { socket: engine.socketPath, listed: byName, ended };
    } catch {
      // As if the engine did not answer at all: what has begun is watched until it does.
    }
  }

  /** The engine that takes containers now. Throws a `StartFault`. */
  #usable(): UsableEngine {
    const { usable, shown } = this.#engines;
    if (usable !== undefined) return usable;
    const why = shown?.fault ?? "The machine has none.";
    throw new StartFault("engine_failed", `There is no container engine to start it: ${why}`, {
      recoverable: true,
    });
  }

  /** The same, by another look if the latest did not find it. */
  async #usableSoon(): Promise<UsableEngine> {
    if (this.#engines.shown?.state === "down") await this.#engines.look();
    return this.#usable();
  }

  async #sweep(usable: UsableEngine): Promise<void> {
    const { engine } = usable;
    const driver = this.#driver;
    if (driver === undefined || this.#isSweeping) return;
    this.#isSweeping = true;
    await this.#images.makeRoom(usable);
    await removeLeftovers(engine, this.#names, (id) => driver.needOf(id), Date.now());
    this.#isSweeping = false;
  }

  /**
   * Whether output comes back as it was written. Podman's files are exact. Of any other engine a trial shows
   * that, where its image is on the machine (containers.md#output).
   */
  async #logsOf(engine: Engine, { engine: name, logDrivers }: EngineFacts): Promise<HostEngine["logs"]> {
    if (name === "podman") return logDrivers.includes("k8s-file") ? "exact" : "text";
    try {
      if ((await engine.inspectImage(PROBE_IMAGE)) === undefined) return "text";
      return (await this.#isExact(engine)) ? "exact" : "text";
    } catch {
      return "text";
    }
  }

  async #isExact(engine: Engine): Promise<boolean> {
    const file = join(this.#options.stateDir, "torture");
    writeFileSync(file, TORTURE);
    const name = `drover-${this.#names.host}-probe`;
    await engine.removeContainer(name);
    try {
      await engine.createContainer(name, probeBody(file, this.#names.labelsOf("probe/probe/1.1")));
      await engine.startContainer(name);
      await engine.waitContainer(name, AbortSignal.timeout(10_000));
      const pieces: Buffer[] = [];
      for await (const { data } of engine.logs(name, { follow: false })) pieces.push(data);
      return isTorture(Buffer.concat(pieces));
    } finally {
      await engine.removeContainer(name);
    }
  }
}
