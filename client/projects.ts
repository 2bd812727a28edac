// The client's calls about projects. The operation determines the type of an answer.
import { type CallOptions, callStream, type Target } from "./transport/http.ts";
import { ask, callOf } from "./transport/operations.ts";

/** The routes of projects (projects.md). Each call rejects with `ApiError` or `UnreachableError`. */
export function projectsOf(target: Target) {
  return {
    create: (name: string, options?: CallOptions) =>
      ask(target, "createProject", { body: { name } }, options),

    list: (options?: CallOptions) => ask(target, "listProjects", {}, options),

    /** Deletes a project of which nothing is left. */
    async remove(name: string, options?: CallOptions): Promise<void> {
      await callStream(target, callOf("deleteProject", { path: { name } }, options));
    },
  };
}
