// Which projects are there? The edge remembers the registry's answer for a few seconds.
import type { Objects } from "../../objects/rpc.ts";
import type { Instant } from "../../shared/machine.ts";

/** How old a remembered list of projects may be. */
const PROJECTS_KEPT_MS = 3_000;

/** The registry's answer about projects, at most a few seconds old. Each app has its own. */
export class ProjectDirectory {
  #known: { names: Set<string>; until: Instant } | undefined;

  /** Whether there is such a project. */
  async has(project: string, { objects, now }: { objects: Objects; now: () => Instant }): Promise<boolean> {
    if (this.#known === undefined || this.#known.until <= now() || !this.#known.names.has(project)) {
      const names = new Set((await objects.registry().projects()).map(({ name }) => name));
      this.#known = { names, until: now() + PROJECTS_KEPT_MS };
    }
    return this.#known.names.has(project);
  }

  /** Makes the next question ask the registry. Call this after deleting a project. */
  forget(): void {
    this.#known = undefined;
  }
}
