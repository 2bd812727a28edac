// Which verb, flag or argument does the last word of an unfinished command line stand for?
import type { Command, Option } from "commander";
import { type Kind, kindOfArgument, kindOfFlag } from "./kinds.ts";

/** A word that can be completed to, and what it means. */
export interface Candidate {
  value: string;
  about: string;
}

/** The place of the word that is to be completed. */
export interface Slot {
  /** What is typed of the word so far, behind `prefix`. */
  typed: string;
  /** A flag with its equals sign, as in `--pool=gpu`; else empty. */
  prefix: string;
  /** Verbs or flags that can stand here. */
  candidates: Candidate[];
  /** What else can stand here. */
  kind: Kind;
  /** The values of the flags before the verb, such as those of `--context`, by their long names. */
  globals: Record<string, string>;
}

const NOTHING: Kind = { of: "nothing" };

/** How far a command line has been read. */
interface Reading {
  program: Command;
  command: Command;
  /** The names of the verb, such as `pools delete`. */
  path: string;
  /** How many arguments the verb has so far. */
  args: number;
  /** The flag whose value is the next word. */
  flag: Option | undefined;
  /** Nothing is a flag any more. */
  isPlain: boolean;
  /** The words are verbs that help is asked for. */
  isHelp: boolean;
  globals: Record<string, string>;
}

/**
 * Finds the place of the last word (cli.md#completion). `words`: those behind `drover`, of which the last one
 * may be empty. The line may be wrong: then nothing can stand there.
 */
export function slotOf(program: Command, words: readonly string[]): Slot {
  const reading: Reading = {
    ...{ program, command: program, path: "drover", args: 0, flag: undefined },
    ...{ isPlain: false, isHelp: false, globals: {} },
  };
  for (const word of words.slice(0, -1)) read(reading, word);
  return slotAt(reading, words.at(-1) ?? "");
}

function read(reading: Reading, word: string): void {
  const { command, flag } = reading;
  if (flag !== undefined) {
    remember(reading, flag, word);
    reading.flag = undefined;
  } else if (reading.isPlain) reading.args += 1;
  else if (word === "--") reading.isPlain = true;
  else if (word.length > 1 && word.startsWith("-")) readFlag(reading, word);
  else {
    const verb = reading.args === 0 ? verbOf(command, word) : undefined;
    if (verb === undefined) readArgument(reading);
    else enter(reading, verb);
  }
}

function enter(reading: Reading, verb: Command): void {
  const { program, command, path, isHelp } = reading;
  // What follows `help` are verbs again.
  if (command === program && verb.name() === "help" && !isHelp) {
    reading.isHelp = true;
    return;
  }
  reading.command = verb;
  reading.path = command === program ? verb.name() : `${path} ${verb.name()}`;
}

function readFlag(reading: Reading, word: string): void {
  const [name = "", value] = splitAtEquals(word);
  const flag = reading.command.options.find(({ long, short }) => long === name || short === name);
  if (flag === undefined || !takesValue(flag)) return;
  if (value === undefined) reading.flag = flag;
  else remember(reading, flag, value);
}

function remember({ program, command, globals }: Reading, { long }: Option, value: string): void {
  if (command === program && long) globals[long] = value;
}

function readArgument(reading: Reading): void {
  // What follows the command of a run belongs to that command.
  if (argumentKind(reading).of === "commands") reading.isPlain = true;
  reading.args += 1;
}

function slotAt(reading: Reading, word: string): Slot {
  const { command, flag, isPlain, isHelp, path, args, globals } = reading;
  const plain = { typed: word, prefix: "", globals };
  if (flag !== undefined) return { ...plain, candidates: [], kind: kindOfFlag(path, flag) };
  const verbs = args === 0 ? verbsOf(command) : [];
  if (isPlain || !word.startsWith("-")) {
    const kind = isHelp ? NOTHING : argumentKind(reading);
    return { ...plain, candidates: isPlain ? [] : verbs, kind };
  }
  const [name = "", value] = splitAtEquals(word);
  if (value === undefined) return { ...plain, candidates: flagsOf(command), kind: NOTHING };
  const named = command.options.find(({ long }) => long === name);
  const kind = named !== undefined && takesValue(named) ? kindOfFlag(path, named) : NOTHING;
  return { typed: value, prefix: `${name}=`, candidates: [], kind, globals };
}

function argumentKind({ command, path, args }: Reading): Kind {
  const { registeredArguments: all } = command;
  const last = all.at(-1);
  const argument = all[args] ?? (last?.variadic ? last : undefined);
  if (argument === undefined) return NOTHING;
  const kind = kindOfArgument(path, argument);
  return kind.of === "commands" && args > 0 ? { of: "files" } : kind;
}

function takesValue(flag: Option): boolean {
  return flag.required;
}

function splitAtEquals(word: string): [name: string, value: string | undefined] {
  const at = word.startsWith("--") ? word.indexOf("=") : -1;
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

function verbOf(command: Command, word: string): Command | undefined {
  return command.commands.find((one) => one.name() === word || one.aliases().includes(word));
}

function verbsOf(command: Command): Candidate[] {
  const help = command.createHelp();
  return help.visibleCommands(command).map((verb) => ({
    value: verb.name(),
    about: help.subcommandDescription(verb),
  }));
}

function flagsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, short, description }) => ({ value: long ?? short ?? "", about: description }));
}
