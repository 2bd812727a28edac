// What `drover version` and `drover help` print, and how the parser's errors are worded.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { makeDirs } from "../disk/make-dirs.ts";
import { errorText } from "../src/shared/words.ts";
import { CliError } from "./errors.ts";
import { manualPage, manualPages } from "./help/man.ts";
import { path } from "./options.ts";
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

const HELP = `
Each command has a page, which the npm package installs, too: man drover-run.

Examples:
  drover help run
  drover help --man run | man -l -
  drover help --into ~/.local/share/man/man1`;

/** `drover help`: prints help for one verb, or the list of verbs; also as manual pages (cli.md#man). */
export function addHelp(program: Command, io: Io, version: string): void {
  program
    .command("help")
    .summary("print help for a command")
    .description("Prints help for a command, or lists all commands.")
    .argument("[verb...]", "such as run, or pools delete")
    .option("--man", "print it as a manual page, for man -l")
    .option("--into <directory>", "write the manual pages of all commands there", path)
    .addHelpText("after", HELP)
    .action(async (words: string[], { man, into }: { man?: boolean; into?: string }) => {
      if (into !== undefined) return writePages(program, version, resolve(io.cwd, into));
      const command = commandOf(program, words);
      if (man !== true) command.help();
      await io.stdout.write(manualPage(command, version));
    });
}

function commandOf(program: Command, words: readonly string[]): Command {
  let command = program;
  for (const word of words) {
    const below = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (below === undefined) throw unknownVerb(words, command);
    command = below;
  }
  return command;
}

function writePages(program: Command, version: string, folder: string): void {
  try {
    makeDirs(folder);
    for (const [name, page] of manualPages(program, version)) writeFileSync(join(folder, name), page);
  } catch (error) {
    throw new CliError(`Cannot write the manual pages to ${folder}: ${errorText(error)}`);
  }
}

function unknownVerb(words: readonly string[], command: Command): CliError {
  const visible = command.createHelp().visibleCommands(command);
  const names = visible.map((one) => one.name()).join(", ");
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
