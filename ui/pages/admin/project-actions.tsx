// What can a reader do about projects: make one, delete an empty one (projects.md)?
import type { PoolView, Project } from "../../../src/generated/api.ts";
import { callOf } from "../../api/send.ts";
import type { Action } from "../../parts/acts/act.tsx";
import { TextField } from "../../parts/acts/field.tsx";
import { textOf } from "../../parts/acts/given.ts";
import { droverOf } from "../../parts/as-text.ts";
import { go } from "../../router/place.ts";

const scope = "projects:write";

/** Makes a project. */
export function creationOf(again: () => void): Action {
  const nameOf = (given: FormData) => textOf(given, "name") ?? "";
  return {
    verb: "Create project",
    question: "Create a project?",
    effect:
      "Nothing is in it yet. It needs a pool whose configuration names it, and a token of its own, which " +
      "the secret of this Drover makes (drover --project NAME tokens create).",
    ends: false,
    scope,
    fields: (
      <TextField label="Name" name="name" hint="the ids of its runs begin with it" required autofocus />
    ),
    call: (given) => callOf("createProject", { body: { name: nameOf(given) } }),
    drover: (given) => droverOf("projects", "create", nameOf(given)),
    done: again,
  };
}

/** Deletes a project of which nothing is left. */
export function deletionOf({ name }: Project, serving: readonly PoolView[], again: () => void): Action {
  const pools = serving.map((pool) => pool.name).join(", ");
  return {
    verb: "Delete",
    question: `Delete the project ${name} for good?`,
    effect:
      "Drover refuses while it has a valid token, trust rule, secret or webhook, or a pool names it" +
      (pools === "" ? ". " : `, as now: ${pools}. `) +
      "Its ended runs and its entries of the log are forgotten in their time.",
    ends: true,
    scope,
    call: () => callOf("deleteProject", { path: { name } }),
    drover: droverOf("projects", "rm", name),
    done() {
      go("/ui/admin/projects");
      again();
    },
  };
}
