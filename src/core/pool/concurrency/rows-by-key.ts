// Which runs have the same key, as long as anything of them may be left?
import { isLeft, type RunRow } from "../record.ts";

/** What the name of a group is made of. */
type Named = Pick<RunRow, "project" | "replace" | "concurrency">;

/** Groups of runs. They change with the rows, so a group costs only what is in it (invariant 6). */
export class RowsByKey {
  readonly #groups = new Map<string, Map<string, RunRow>>();
  readonly #nameOf: (row: Named) => string | undefined;

  /** `nameOf`: the name of the group to which a run belongs as long as it exists. Undefined: to none. */
  constructor(nameOf: (row: Named) => string | undefined) {
    this.#nameOf = nameOf;
  }

  /** The runs in the group of this run, itself included. */
  of(row: Named): Iterable<RunRow> {
    return this.#groups.get(this.#nameOf(row) ?? "")?.values() ?? [];
  }

  /** Notes the change of a row. Returns whether nothing of the run is left since. */
  follow(key: string, before: RunRow | undefined, after: RunRow | undefined): boolean {
    const row = after ?? before;
    const name = row === undefined ? undefined : this.#nameOf(row);
    if (row === undefined || name === undefined) return false;
    const group = this.#groups.get(name) ?? new Map<string, RunRow>();
    const stays = after !== undefined && isLeft(after);
    const isGone = stays ? false : group.delete(key);
    if (stays) group.set(key, row);
    if (group.size > 0) this.#groups.set(name, group);
    else this.#groups.delete(name);
    return isGone;
  }
}
