// What can stand in the place of an argument or of a flag's value?
import type { Argument, Option } from "commander";

/** What Drover or the config file knows the names of. */
export type Named =
  | "runs"
  | "pools"
  | "workers"
  | "contexts"
  | "projects"
  | "secrets"
  | "webhooks"
  | "jobs"
  | "tokens";

/** What completes a word: names, paths, commands of this machine, given words, or nothing. */
export type Kind =
  | { of: "names"; named: readonly Named[] }
  | { of: "files" | "directories" | "commands" | "nothing" }
  | { of: "words"; words: readonly string[] };

const names = (...named: Named[]): Kind => ({ of: "names", named });
const files: Kind = { of: "files" };
const directories: Kind = { of: "directories" };
const nothing: Kind = { of: "nothing" };

/** Kinds by the name of an argument. */
const ARGUMENTS: Record<string, Kind> = {
  run: names("runs"),
  "run|worker": names("runs", "workers"),
  worker: names("workers"),
  pool: names("pools"),
  context: names("contexts"),
  webhook: names("webhooks"),
  job: names("jobs"),
  file: files,
  token: names("tokens"),
  page: { of: "words", words: ["runs", "workers", "pools"] },
  directory: directories,
  "file-or-directory": files,
  command: { of: "commands" },
};

/** Kinds by the long name of a flag. */
const FLAGS: Record<string, Kind> = {
  "--pool": names("pools"),
  "--context": names("contexts"),
  "--project": names("projects"),
  "--run": names("runs"),
  "--after": names("runs"),
  "--registry-auth": names("secrets"),
  "--on-interrupt": { of: "words", words: ["abort", "detach"] },
  "--file": files,
  "--payload": files,
  "--stdin": files,
  "--device": files,
  "--credentials": files,
  "--record": files,
  "--replay": files,
  "--upload": directories,
  "--dir": directories,
  "--into": directories,
};

/** Names whose meaning depends on the verb, by verb and name. */
const IN_VERBS: Record<string, Kind> = {
  "drover --state": directories,
  "up --state": directories,
  "secrets set <name>": names("secrets"),
  "secrets rm <name>": names("secrets"),
  "projects rm <name>": names("projects"),
  "context set --name": names("contexts"),
  "login --name": names("contexts"),
};

/** What completes an argument of a verb (cli.md#completion). `path`: the verb, such as `pools delete`. */
export function kindOfArgument(path: string, argument: Argument): Kind {
  if (argument.argChoices !== undefined) return { of: "words", words: argument.argChoices };
  return IN_VERBS[`${path} <${argument.name()}>`] ?? ARGUMENTS[argument.name()] ?? nothing;
}

/** What completes the value of a flag of a verb (cli.md#completion). */
export function kindOfFlag(path: string, option: Option): Kind {
  const words = option.argChoices ?? allowedBy(option.parseArg);
  if (words !== undefined) return { of: "words", words };
  const flag = option.long ?? option.short ?? "";
  return IN_VERBS[`${path} ${flag}`] ?? FLAGS[flag] ?? nothing;
}

/** The words that a parser of words allows (`word` in `options.ts`). */
function allowedBy(parse: unknown): readonly string[] | undefined {
  return typeof parse === "function" && "allowed" in parse && Array.isArray(parse.allowed)
    ? parse.allowed
    : undefined;
}
