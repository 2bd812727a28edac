// How does this host recognize its own containers (containers.md#names)?
import type { ContainerFacts, ListedContainer } from "../engine/types.ts";
import { hostMark, keyOf } from "../exec/processes/dirs.ts";
import { StartFault } from "../exec/start-fault.ts";

/** The labels of each container that Drover makes. */
export const LABELS = {
  host: "drover.host",
  attempt: "drover.attempt",
  run: "drover.run",
  boot: "drover.boot",
} as const;

/** What an engine has said of the containers of this host when this agent started. */
export interface FoundContainers {
  /** Of the engine. */
  socket: string;
  /** By name. */
  listed: ReadonlyMap<string, ListedContainer>;
  /** By name, of those that have ended. */
  ended: ReadonlyMap<string, ContainerFacts>;
}

/** The names of the containers of one host: several hosts may share one engine. */
export class ContainerNames {
  /** The value of `LABELS.host`. */
  readonly host: string;
  readonly #boot: string;

  constructor(stateDir: string, boot: string) {
    this.host = hostMark(stateDir);
    this.#boot = boot;
  }

  /** The name of an attempt's container: a second create finds the first one. */
  of(id: string): string {
    return `drover-${this.host}-${keyOf(id)}`;
  }

  labelsOf(id: string): Record<string, string> {
    return {
      [LABELS.host]: this.host,
      [LABELS.attempt]: id,
      [LABELS.run]: id.slice(0, id.indexOf("/")),
      [LABELS.boot]: this.#boot,
    };
  }

  /** The labels by which this host lists its containers. */
  get own(): Record<string, string> {
    return { [LABELS.host]: this.host };
  }

  /** Whether these labels are those of an attempt's container of this host. */
  isOf(id: string, labels: Readonly<Record<string, string>>): boolean {
    return labels[LABELS.host] === this.host && labels[LABELS.attempt] === id;
  }

  /** Whether a container was made in an earlier boot of the machine: nothing of it lives. */
  isOfEarlierBoot(labels: Readonly<Record<string, string>>): boolean {
    return labels[LABELS.boot] !== this.#boot;
  }
}

/** The fault of a start whose container would have the name of another one. */
export function nameTaken(name: string): StartFault {
  const text = `Another container has the name ${name}, and is not Drover's: remove or rename it.`;
  return new StartFault("engine_failed", text);
}
