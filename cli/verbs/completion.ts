// `drover completion`: makes the shell complete verbs, flags and names.
import { Argument, type Command } from "commander";
import { answerFor, SHELLS, type Shell } from "../completion/answer.ts";
import bash from "../completion/bash.sh";
import fish from "../completion/fish.fish";
import zsh from "../completion/zsh.zsh";
import type { Io } from "../terminal/io.ts";

const SCRIPTS: Record<Shell, string> = { bash, zsh, fish };

const HELP = `
Verbs, flags, files, and the ids and names of runs, workers, pools, contexts, projects,
secrets, webhooks and tokens are completed. Ids are asked of the Drover in use each time.

For bash, in ~/.bashrc:
  source <(drover completion bash)
For zsh, in ~/.zshrc, after compinit:
  source <(drover completion zsh)
For fish, once:
  drover completion fish >~/.config/fish/completions/drover.fish`;

/** `drover completion`: prints a script for a shell, and answers that script (cli.md#completion). */
export function addCompletion(program: Command, io: Io): void {
  program
    .command("completion")
    .summary("complete verbs, flags and ids in your shell")
    .description("Prints a script that makes your shell complete verbs, flags, ids and names.")
    .addArgument(new Argument("<shell>", `one of: ${SHELLS.join(", ")}`).choices(SHELLS))
    .addHelpText("after", HELP)
    .action((shell: Shell) => io.stdout.write(SCRIPTS[shell]));
  program
    .command("complete", { hidden: true })
    .description("Answers the scripts of drover completion.")
    .addArgument(new Argument("<shell>", "the shell that asks").choices(SHELLS))
    .argument("[word...]", "the words behind drover, up to the one that is to be completed")
    .action(async (shell: Shell, words: string[]) =>
      io.stdout.write(await answerFor(io, program, shell, words)),
    );
}
