// Machines of a fake cloud that are processes here: each runs the user data that its cloud got.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LoopbackCloud } from "../../../local/loopback/cloud.ts";

/** A machine as its fake knows it. */
export interface Booted {
  id: string;
  name: string;
  userData: string;
}

export interface LocalOptions {
  /** A machine (the fake's id) has switched itself off, or has ended with its first process. */
  onEnded(id: string): void;
  /** Lets the fake's time pass. */
  tick(): void;
  /** A machine ends with its first process. Absent: it goes on without one. */
  endsWithFirstProcess?: true;
}

const LOOK_MS = 100;

/**
 * Process trees that stand for the machines of a fake cloud. `poweroff` in such a machine does not reach this
 * computer: it ends the machine, as the fake is told.
 */
export class LocalMachines {
  readonly #cloud: LoopbackCloud;
  readonly #dir: string;
  /** The ids here, by the ids of the fake. */
  readonly #here = new Map<string, string>();
  readonly #look: NodeJS.Timeout;

  constructor(dir: string, { onEnded, tick, endsWithFirstProcess }: LocalOptions) {
    this.#dir = dir;
    mkdirSync(dir, { recursive: true });
    const bin = join(dir, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "poweroff"), '#!/bin/sh\n: > "$HOME/powered-off"\n');
    chmodSync(join(bin, "poweroff"), 0o755);
    process.env.PATH = `${bin}:${process.env.PATH}`;
    const onDeath = ({ id: here }: { id: string }) => {
      const [id] = [...this.#here].find(([, known]) => known === here) ?? [];
      if (endsWithFirstProcess === undefined || id === undefined) return;
      this.#here.delete(id);
      onEnded(id);
    };
    this.#cloud = new LoopbackCloud({ dir, onProblem: (text) => console.error(text), onDeath });
    this.#look = setInterval(() => {
      tick();
      for (const [id, here] of this.#here) {
        if (!existsSync(join(this.#dir, "instances", here, "powered-off"))) continue;
        this.end(id);
        onEnded(id);
      }
    }, LOOK_MS);
  }

  boot({ id, name, userData }: Booted): void {
    const request = { token: id, name, instanceType: "", image: "", userData, tags: {} };
    const resources = { vcpus: 2, memoryBytes: 2 ** 30, diskBytes: 0, gpus: 0 };
    this.#here.set(id, this.#cloud.create({ ...request, resources }).id);
  }

  end(id: string): void {
    const here = this.#here.get(id);
    this.#here.delete(id);
    if (here !== undefined) this.#cloud.destroy(here);
  }

  /** How many machines run here. */
  get living(): number {
    return this.#cloud.living().length;
  }

  async stop(): Promise<void> {
    clearInterval(this.#look);
    await this.#cloud.endAll();
  }
}
