import type { HostEvent } from "../../agent/core/host.ts";
import type { FoundHost } from "../../agent/core/journal.ts";
import type { Beginning } from "../../agent/core/types.ts";

/** The directories of one placement: of which placements there are data in them. */
interface Dirs {
  data: string[];
  /** Of a sticky one: how it began. */
  note?: Beginning;
  since: number;
}

/**
 * The directories of a simulated machine, as `StickyData` has them. What is done is done at once: an agent
 * that is killed before it hears of it finds it done.
 */
export class SimDisk {
  readonly #now: () => number;
  readonly #allocs = new Map<string, Dirs>();
  readonly #kept = new Map<string, Dirs>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** What a new start of the agent finds. */
  found(): Required<Pick<FoundHost, "placements" | "sticky">> {
    const begun = [...this.#allocs].flatMap(([placement, { note }]) => (note ? [[placement, note]] : []));
    const kept = [...this.#kept].map(([placement, { since }]) => [placement, this.#now() - since]);
    const sticky = { begun: Object.fromEntries(begun), keptForMs: Object.fromEntries(kept) };
    return { placements: [...this.#allocs.keys()], sticky };
  }

  /** A task starts: it finds what is there, and leaves something of its own. */
  use(placement: string): string[] {
    const dirs = this.#allocs.get(placement) ?? { data: [], since: 0 };
    this.#allocs.set(placement, { ...dirs, data: [...new Set([...dirs.data, placement])] });
    return dirs.data;
  }

  begin(placement: string, from: string | undefined): HostEvent {
    const known = this.#allocs.get(placement);
    const beginning = known?.note ?? this.#make(placement, from);
    return { type: "begun", placement, from, data: beginning };
  }

  #make(placement: string, from: string | undefined): Beginning {
    if (from !== undefined) this.clear(from);
    const kept = this.#kept.get(from ?? "");
    const note = kept === undefined ? (from === undefined ? "first" : "empty") : "moved";
    this.#kept.delete(from ?? "");
    this.#allocs.set(placement, { data: kept?.data ?? [], note, since: 0 });
    return note;
  }

  clear(placement: string): HostEvent {
    const dirs = this.#allocs.get(placement);
    this.#allocs.delete(placement);
    if (dirs?.note === undefined) return { type: "cleared", placement };
    this.#kept.set(placement, { data: dirs.data, since: this.#now() });
    return { type: "kept", placement };
  }

  drop(placement: string): HostEvent {
    this.#kept.delete(placement);
    return { type: "cleared", placement };
  }
}
