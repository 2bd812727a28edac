// How does the help of a command become a manual page?
import type { Command, Help } from "commander";
import { prose, quoted, roff } from "./roff.ts";

/** All pages by their file names: one for the command, and one for each verb (cli.md#man). */
export function manualPages(program: Command, version: string): [name: string, page: string][] {
  const verbs = program.createHelp().visibleCommands(program);
  return [program, ...verbs].map((one) => [`${pageName(one)}.1`, manualPage(one, version)]);
}

/** The manual page of a command, with those below it. */
export function manualPage(command: Command, version: string): string {
  const help = command.createHelp();
  const name = pageName(command);
  const about = command.parent === null ? command.description() : help.subcommandDescription(command);
  return [
    `.TH ${quoted(name.toUpperCase())} 1 "" ${quoted(version)} "Drover"\n`,
    `.SH NAME\n${roff(name)} \\- ${roff(asClause(about))}\n`,
    `.SH SYNOPSIS\n.B ${roff(help.commandUsage(command))}\n`,
    `.SH DESCRIPTION\n${roff(command.description())}\n`,
    ...body(command, help, "SH"),
    ...below(command, help),
    seeAlso(command, help),
  ].join("");
}

/** `drover pools delete` has the page `drover-pools-delete`. */
function pageName(command: Command): string {
  return command.parent === null ? command.name() : `${pageName(command.parent)}-${command.name()}`;
}

/** The arguments, the flags, and the text after them. */
function body(command: Command, help: Help, section: "SH" | "SS"): string[] {
  const args = help
    .visibleArguments(command)
    .map((one): Item => [help.argumentTerm(one), help.argumentDescription(one)]);
  const flags = help
    .visibleOptions(command)
    .map((one): Item => [help.optionTerm(one), help.optionDescription(one)]);
  const title = (text: string) => (section === "SH" ? text.toUpperCase() : text);
  return [
    list(`.${section} ${title("Arguments")}\n`, args),
    list(`.${section} ${title("Options")}\n`, flags),
    prose(textAfter(command), section),
  ];
}

type Item = [term: string, about: string];

function list(heading: string, items: readonly Item[]): string {
  if (items.length === 0) return "";
  return heading + items.map(([term, about]) => `.TP\n.B ${roff(term)}\n${roff(about)}\n`).join("");
}

/** The commands below: those of the program have pages of their own, others stand on this page. */
function below(command: Command, help: Help): string[] {
  const verbs = help.visibleCommands(command);
  if (command.parent === null) {
    const items = verbs.map((verb): Item => [`${pageName(verb)}(1)`, help.subcommandDescription(verb)]);
    return [list(".SH COMMANDS\n", items)];
  }
  return verbs.map((verb) => {
    const heading = `.SH ${quoted(`${command.name()} ${verb.name()}`.toUpperCase())}\n`;
    const usage = `.B ${roff(help.commandUsage(verb))}\n.PP\n${roff(verb.description())}\n`;
    return heading + usage + body(verb, verb.createHelp(), "SS").join("");
  });
}

function seeAlso(command: Command, help: Help): string {
  if (command.parent === null) return "";
  const others = help.visibleCommands(command.parent).filter((one) => one !== command);
  const near = command.parent.parent === null ? [] : others;
  const pages = [command.parent, ...near].map((one) => `.BR ${roff(pageName(one))} (1)`);
  return `.SH SEE ALSO\n${pages.join(",\n")}\n`;
}

/** The text that `addHelpText` has put after the help of a command. The parser only prints both together. */
function textAfter(command: Command): string {
  let text = "";
  const before = command.configureOutput();
  const writeOut = (more: string) => {
    text += more;
  };
  command.configureOutput({ ...before, writeOut });
  command.outputHelp();
  command.configureOutput(before);
  return text.slice(command.helpInformation().length);
}

function asClause(sentence: string): string {
  const text = sentence.replace(/\.$/, "");
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
