// What does a spec run, in one line?
import { quoteArgv } from "../../src/shared/shell-words.ts";

interface Commands {
  argv?: string[] | undefined;
  tasks?: { name: string; argv?: string[] | undefined }[] | undefined;
}

/** The command, or those of a group, each with the name of its task. */
export function commandOf({ argv, tasks = [] }: Commands): string {
  if (argv !== undefined) return quoteArgv(argv);
  return tasks.map((task) => `${task.name}: ${quoteArgv(task.argv ?? [])}`).join("; ");
}
