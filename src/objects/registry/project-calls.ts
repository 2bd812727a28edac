// What does the registry answer to calls about projects (projects.md)? `core/registry` decides.
import type { RegistryEvent, RegistryState } from "../../core/registry/machine.ts";
import { refusalOfDeletion } from "../../core/registry/project-deletion.ts";
import {
  hasProject,
  projectViews,
  refusalOfNewProject,
  unknownProject,
} from "../../core/registry/projects.ts";
import type { Project } from "../../schema/access/project.ts";

/** The registry as these calls use it: `enter` applies an event, and returns the new state. */
interface Entered {
  enter(event?: RegistryEvent): RegistryState;
}

/** The calls of `RegistryApi` about projects. */
export class ProjectCalls {
  readonly #registry: Entered;

  constructor(registry: Entered) {
    this.#registry = registry;
  }

  create(name: string, by: string): Project {
    const refusal = refusalOfNewProject(this.#registry.enter().projects, name);
    if (refusal !== null) throw refusal;
    this.#registry.enter({ type: "project_created", name, by });
    const made = this.list().find((project) => project.name === name);
    if (made === undefined) throw new Error(`the project ${name} that was just stored is missing`);
    return made;
  }

  remove(name: string, by: string): void {
    const refusal = refusalOfDeletion(this.#registry.enter(), name);
    if (refusal !== null) throw refusal;
    this.#registry.enter({ type: "project_deleted", name, by });
  }

  list(): Project[] {
    return projectViews(this.#registry.enter().projects);
  }

  /** Throws `unknown_project` if there is no such project: nothing can be made in it. */
  refuseUnknown(project: string): void {
    if (!hasProject(this.#registry.enter().projects, project)) throw unknownProject(project);
  }
}
