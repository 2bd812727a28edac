// Can the reader change this? Things that are called by their name belong to the reader's own project, and
// the secret of the deployment sees the others, too (projects.md#callers).
import { DEFAULT_PROJECT, nameIn } from "../../../src/shared/access/project.ts";
import { session } from "../../api/session.ts";

interface Thing {
  name: string;
  project: string;
}

/** The project of what the reader calls by name alone; undefined: nobody is signed in. */
export function ownProject(): string | undefined {
  const now = session.value;
  return now.is === "in" ? (now.caller.project ?? DEFAULT_PROJECT) : undefined;
}

/** Whether a call by name would be about this thing, and not about another one of the same name. */
export function isOwn({ project }: Pick<Thing, "project">): boolean {
  return project === ownProject();
}

/** The name of a thing as addresses and tables have it: with its project, unless that is the default one. */
export function nameOf({ project, name }: Thing): string {
  return nameIn(project, name, "/");
}

/** What stands in place of the actions of a thing of another project. */
export function Foreign({ project }: Thing) {
  return (
    <p>
      It belongs to the project {project}. To change it, act there: <code>drover --project {project} …</code>
    </p>
  );
}
