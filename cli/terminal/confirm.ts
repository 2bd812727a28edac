// How does a person agree to what a command has shown?
import { CliError } from "../errors.ts";
import { isAtTerminal, personAtTerminal } from "./ask.ts";

/**
 * Resolves if the person at the terminal agrees, or `yes` has said so in advance. Throws a `CliError` if they
 * do not, or if nobody can be asked. `ending`: what has been done then, which is nothing.
 */
export async function agreed(question: string, yes: boolean | undefined, ending: string): Promise<void> {
  if (yes === true) return;
  if (!isAtTerminal()) throw new CliError("Nobody can be asked here.", [`Confirm with --yes. ${ending}`]);
  const person = personAtTerminal(ending);
  try {
    if ((await person.choose(question, "ny")) !== "y") throw new CliError(ending);
  } finally {
    person.leave();
  }
}
