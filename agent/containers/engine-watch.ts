// Which container engine does this machine have, and does it answer now (containers.md#engines)?
import { existsSync } from "node:fs";
import { release } from "node:os";
import type { HostEngine } from "../../src/schema/host.ts";
import { MAX_TEXT_CHARS } from "../../src/shared/limits.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import { Engine } from "../engine/engine.ts";
import { EngineError, type EngineErrorKind } from "../engine/errors.ts";
import { unsupported } from "../engine/support.ts";
import type { EngineFacts } from "../engine/types.ts";
import { say } from "../say.ts";
import { within } from "./patience.ts";

/** Where engines listen that run as root. */
export const SOCKETS = ["/run/podman/podman.sock", "/var/run/docker.sock"];
/** How often the engine is asked whether it is there. */
const LOOK_MS: Millis = 10_000;

export interface EngineWatchOptions {
  /** The engine's socket; empty: no engine is used. Undefined: one of `SOCKETS`, if it exists. */
  socket: string | undefined;
  /** Whether this engine gives output back byte by byte. */
  logsOf: (engine: Engine, facts: EngineFacts) => Promise<HostEngine["logs"]>;
  /** Called when something has changed. */
  changed: (engine: HostEngine | undefined) => void;
  /** Called after each look that found the engine usable. */
  usable: (engine: UsableEngine) => void;
}

/** An engine that can be used, and what it is. */
export interface UsableEngine {
  engine: Engine;
  facts: EngineFacts;
}

/** Watches the engine. Its outage changes what the host reports, and nothing else: runs go on. */
export class EngineWatch {
  readonly #options: EngineWatchOptions;
  #engine: Engine | undefined;
  #usable: UsableEngine | undefined;
  #shown: HostEngine | undefined;
  /** Of which engine it is known whether its output is exact. */
  #tried: EngineFacts | undefined;
  #isBegun = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EngineWatchOptions) {
    this.#options = options;
  }

  /** The engine as it is reported; undefined: there is none. */
  get shown(): HostEngine | undefined {
    return this.#shown;
  }

  /** The engine, if it answered at the latest look. */
  get usable(): UsableEngine | undefined {
    return this.#shown?.state === "usable" ? this.#usable : undefined;
  }

  /** The engine, whether it answers or not; undefined: none was ever there. */
  get known(): Engine | undefined {
    return this.#engine;
  }

  /**
   * Looks for the first time. What takes longer than `ms` goes on, and the engine is `down` so long: nothing
   * that enforces a lease waits for it.
   */
  async open(ms: Millis): Promise<void> {
    await within(ms, this.look());
    if (this.#shown !== undefined || this.#engine === undefined) return;
    const fault = `${UNKNOWN.name}: The container engine has not answered for ${ms / 1_000} s.`;
    this.#shown = { ...UNKNOWN, state: "down", fault };
  }

  /** Looks from now on again and again, and tries whether output is exact. */
  begin(): void {
    this.#isBegun = true;
    const look = async () => {
      await this.look();
      this.#timer = setTimeout(look, LOOK_MS).unref();
    };
    void look();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Asks the engine whether it is there. Never rejects. */
  async look(): Promise<void> {
    const before = JSON.stringify(this.#shown);
    this.#shown = await this.#see();
    if (JSON.stringify(this.#shown) !== before) {
      const { fault = null } = this.#shown ?? {};
      if (fault !== null) say(`cannot run containers: ${fault}`);
      this.#options.changed(this.#shown);
    }
    const { usable } = this;
    if (usable !== undefined) this.#options.usable(usable);
  }

  async #see(): Promise<HostEngine | undefined> {
    const socket =
      this.#options.socket ?? this.#engine?.socketPath ?? SOCKETS.find((path) => existsSync(path));
    if (socket === undefined || socket === "") return undefined;
    this.#engine ??= new Engine(socket);
    const engine = this.#engine;
    try {
      await engine.ping();
      // One that was refused may have been mended without an end.
      const facts = await (this.#shown?.state === "refused" ? engine.openAgain() : engine.open());
      // The same answer as before: it was not away. Another one may be that of a newer version.
      // A trial takes its time, and podman needs none.
      const mayTry = this.#isBegun || facts.engine === "podman";
      const isSame = facts === this.#usable?.facts && (facts === this.#tried || !mayTry);
      if (this.#shown !== undefined && isSame) return { ...this.#shown, state: "usable", fault: null };
      const here = { kernel: release(), isRoot: process.geteuid?.() === 0 };
      const refused = unsupported(facts, here);
      const named = { name: facts.engine, version: facts.version, api: facts.api };
      if (refused !== undefined) return { ...named, logs: "text", state: "refused", fault: cut(refused) };
      this.#usable = { engine, facts };
      if (!mayTry) return { ...named, logs: "text", state: "usable", fault: null };
      this.#tried = facts;
      return { ...named, logs: await this.#options.logsOf(engine, facts), state: "usable", fault: null };
    } catch (error) {
      const known = this.#shown ?? UNKNOWN;
      return { ...known, state: stateAfter(error), fault: cut(`${known.name}: ${errorText(error)}`) };
    }
  }
}

/** What does not pass by itself: it takes another engine, version or right (containers.md#engines). */
const LASTING: readonly EngineErrorKind[] = ["version", "denied", "not_engine"];

/** The state of an engine that could not be asked. */
export function stateAfter(error: unknown): "refused" | "down" {
  return error instanceof EngineError && LASTING.includes(error.kind) ? "refused" : "down";
}

const UNKNOWN = { name: "engine", version: "", api: "", logs: "text" as const };

function cut(text: string): string {
  return text.slice(0, MAX_TEXT_CHARS);
}
