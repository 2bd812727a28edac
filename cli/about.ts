// What `drover version` and `drover help` print, and how the parser's errors are worded.
import type { Command } from "commander";
import { CliError } from "./errors.ts";
import type { Io } from "./terminal/io.ts";
import { printable } from "./terminal/text.ts";

/** `drover version`: the same as `drover --version`. */
export function addVersion(program: Command, io: Io, version: string): void {
  program
    .command("version")
    .summary("print the version")
    .description("Prints the version of this command.")
    .action(() => io.stdout.write(`${version}\n`));
}

/** `drover help`: prints help for one verb, or the list of verbs. */
export function addHelp(program: Command): void {
  program
    .command("help")
    .summary("print help for a command")
    .description("Prints help for a command, or lists all commands.")
    .argument("[verb...]", "such as run, or pools delete")
    .action((words: string[]) => {
      let command = program;
      for (const word of words) {
        const below = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
        if (below === undefined) throw unknownVerb(words, command);
        command = below;
      }
      command.help();
    });
}

function unknownVerb(words: readonly string[], command: Command): CliError {
  const names = command.commands.map((one) => one.name()).join(", ");
  return new CliError(`There is no command \`${printable(words.join(" "))}\`.`, [
    names === "" ? `Try: drover help ${command.name()}` : `The commands are: ${names}.`,
  ]);
}

/** Rewords an error of the parser so that it reads like the other errors of this command. */
export function inOurWords(text: string): string {
  return text
    .replace(
      /^error: option '([^']*)' argument '([\s\S]*)' is invalid\. /,
      (_, flags: string, value: string) => {
        const flag = /--[\w-]+/.exec(flags)?.[0] ?? flags;
        return `error: ${flag} cannot be ${named(value)}. `;
      },
    )
    .replace(
      /^error: command-argument value '([\s\S]*)' is invalid for argument '([^']*)'\. /,
      (_, value, name) => {
        return `error: <${name}> cannot be ${named(value)}. `;
      },
    )
    .replace(/^error: /, "drover: ");
}

function named(value: string): string {
  return value === "" ? "empty" : `\`${printable(value)}\``;
}
