import type { HostEvent } from "../../agent/core/events.ts";
import type { FoundHost } from "../../agent/core/journal.ts";
import type { Beginning } from "../../agent/core/types.ts";

/** The directories of one placement: of which placements there are data in them. */
interface Dirs {
  data: string[];
  /** Of a sticky one: how it began. */
  note?: Beginning;
  since: number;
}

/** The id of a snapshot that is made of something with this name. */
export function snapshotOf(name: string): string {
  const letters = [...name].map((char) => char.charCodeAt(0).toString(16).padStart(2, "0")).join("");
  return `sha256:${letters.padStart(64, "0").slice(-64)}`;
}

/**
 * The directories of a simulated machine, as `StickyData` has them. What is done is done at once: an agent
 * that is killed before it hears of it finds it done.
 */
export class SimDisk {
  readonly #now: () => number;
  readonly #allocs = new Map<string, Dirs>();
  readonly #kept = new Map<string, Dirs>();

  readonly #snapshots: Map<string, string[]>;

  /** `snapshots`: what all machines have stored, and may fetch. */
  constructor(now: () => number, snapshots: Map<string, string[]>) {
    this.#now = now;
    this.#snapshots = snapshots;
  }

  /** What a new start of the agent finds. */
  found(): Required<Pick<FoundHost, "placements" | "sticky">> {
    const begun = [...this.#allocs].flatMap(([placement, { note }]) => (note ? [[placement, note]] : []));
    const kept = [...this.#kept].map(([placement, { since }]) => [placement, { since }]);
    const sticky = { begun: Object.fromEntries(begun), kept: Object.fromEntries(kept) };
    return { placements: [...this.#allocs.keys()], sticky };
  }

  /** A task starts: it finds what is there, and leaves something of its own. */
  use(placement: string): string[] {
    const dirs = this.#allocs.get(placement) ?? { data: [], since: 0 };
    this.#allocs.set(placement, { ...dirs, data: [...new Set([...dirs.data, placement])] });
    return dirs.data;
  }

  begin(placement: string, from: string | undefined, snapshot: string | undefined): HostEvent {
    const known = this.#allocs.get(placement);
    const beginning = known?.note ?? this.#make(placement, from, snapshot);
    return { type: "begun", placement, from, data: beginning };
  }

  #make(placement: string, from: string | undefined, snapshot: string | undefined): Beginning {
    if (from !== undefined) this.clear(from);
    const kept = this.#kept.get(from ?? "")?.data;
    const fetched = kept === undefined ? this.#snapshots.get(snapshot ?? "") : undefined;
    const none = from === undefined && snapshot === undefined ? "first" : "empty";
    const note = kept !== undefined ? "moved" : fetched !== undefined ? "fetched" : none;
    this.#kept.delete(from ?? "");
    this.#allocs.set(placement, { data: kept ?? fetched ?? [], note, since: 0 });
    return note;
  }

  /** The data of a placement become a snapshot. */
  save(placement: string): HostEvent {
    const { data } = this.#allocs.get(placement) ?? { data: [] };
    const snapshot = snapshotOf(placement);
    this.#snapshots.set(snapshot, data);
    return { type: "saved", placement, outcome: { snapshot, files: data.length, bytes: placement.length } };
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
