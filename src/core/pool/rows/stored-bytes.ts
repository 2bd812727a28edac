// How many bytes have the runs of each project stored (projects.md#stored-bytes)?
import type { Rows } from "../../rows.ts";
import { type RunRow, runKey } from "../record.ts";

/**
 * The bytes that the runs of a project have stored until they are forgotten. The first question reads the
 * table of runs once. After that, the sums follow the changes of rows, so that no event reads the ended runs.
 */
export class StoredBytes {
  readonly #runs: Rows<RunRow>;
  #sums: Map<string, number> | undefined;

  constructor(runs: Rows<RunRow>) {
    this.#runs = runs;
  }

  /** The bytes of a project's runs. Ask only in pools in which a project has this quota. */
  of(project: string): number {
    this.#sums ??= this.#runs.sums("storedBytes", "project");
    return this.#sums.get(project) ?? 0;
  }

  /** Notes that a row is about to be set. */
  changes(row: RunRow): void {
    if (this.#sums === undefined) return;
    const before = this.#runs.get(runKey(row.submittedAt, row.run));
    this.#add(row.project, row.storedBytes - (before?.storedBytes ?? 0));
  }

  /** Notes that a row is about to be deleted. */
  forgets({ project, storedBytes }: RunRow): void {
    this.#add(project, -storedBytes);
  }

  #add(project: string, bytes: number): void {
    this.#sums?.set(project, (this.#sums.get(project) ?? 0) + bytes);
  }
}
