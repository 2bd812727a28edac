// Which Drover does this command talk to, and with which token? Verbs get their client from `connect`.
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Client, createClient } from "../client/client.ts";
import { DEFAULT_PROJECT, PROJECT_NAME, PROJECT_NAME_TEXT } from "../src/shared/access/project.ts";
import { parseToken } from "../src/shared/access/token-text.ts";
import { loopbackAddress } from "../src/shared/proof.ts";
import { quoteArgv } from "../src/shared/shell-words.ts";
import { checkedUrl } from "./config/address.ts";
import { choiceOf, type Where } from "./config/choice.ts";
import { type Config, contextIn, type Defaults, LOCAL } from "./config/config.ts";
import { readConfig } from "./config/config-file.ts";
import { CliError } from "./errors.ts";
import { readOwnFile } from "./own-file.ts";
import type { Io } from "./terminal/io.ts";
import { printable } from "./terminal/text.ts";

/** The Drover that this command talks to. */
export interface Context {
  url: string;
  token: string;
  /**
   * The context file that `drover up` wrote, if the Drover is local. The machines of a local Drover are
   * processes on this machine.
   */
  file: string | undefined;
  /** The name of the context; undefined if the environment has the URL and the token. */
  name: string | undefined;
  /** What has chosen this Drover, in words. */
  by: string;
  /** The project of the context, for a caller that belongs to none. */
  project: string | undefined;
  /** What `drover run` takes from the context. */
  defaults: Defaults;
}

declare const DROVER_VERSION: string;

/** Where `drover up` keeps its state, in the directory in which it is started. */
export const DEFAULT_STATE_DIR = ".drover";

/**
 * Returns a client for the chosen Drover. If no Drover is chosen, throws a `CliError` that says what to do.
 */
export function connect(io: Io): { client: Client; context: Context } {
  const context = findContext(io);
  return { client: clientFor(context, projectFor(io, context)?.name), context };
}

/** A client for a Drover. */
export function clientFor({ url, token }: { url: string; token: string }, project?: string): Client {
  return createClient({ url, token, project, userAgent: `drover/${DROVER_VERSION}` });
}

/** Clients for a Drover that act in a project each. */
export function withinOf(context: { url: string; token: string }): (project: string) => Client {
  return (project) => clientFor(context, project === DEFAULT_PROJECT ? undefined : project);
}

/** The project to act in, and what names it. Undefined: the one of the token. */
export function projectFor(
  io: Pick<Io, "env" | "project">,
  { project, name }: Pick<Context, "project" | "name">,
): { name: string; by: string } | undefined {
  if (io.project !== undefined) return { name: io.project, by: "--project" };
  const variable = projectFrom(io.env.DROVER_PROJECT);
  if (variable !== undefined) return { name: variable, by: "DROVER_PROJECT" };
  return project === undefined ? undefined : { name: project, by: `context ${name}` };
}

/** The project that a variable names. A name that cannot be one is never sent. */
function projectFrom(name: string | undefined): string | undefined {
  if (name === undefined || name === "") return undefined;
  if (PROJECT_NAME.test(name)) return name;
  throw new CliError(`DROVER_PROJECT is no name of a project: ${name}`, [`It ${PROJECT_NAME_TEXT}.`]);
}

/**
 * Finds the Drover to talk to (cli.md#which). The first of these wins:
 *
 * 1. `drover --state <directory>` or `drover --context <name>`,
 * 2. `DROVER_URL` with `DROVER_TOKEN`, `DROVER_STATE`, or `DROVER_CONTEXT`,
 * 3. the current context of the config file,
 * 4. the nearest state of a `drover up`, in this directory or a directory above it, as Git finds `.git`. The
 *    state is the `.drover` in a directory, or the directory itself if it is a state directory.
 *
 * `DROVER_TOKEN` without `DROVER_URL`, or the reverse, is an error: a token is sent only to the Drover to
 * which the token belongs. A state directory of another user is refused (`own-file.ts`).
 */
export function findContext(io: Where): Context {
  let config: Config | undefined;
  const read = () => {
    config ??= readConfig(io);
    return config;
  };
  const choice = choiceOf(io, () => read().current);
  const { by } = choice;
  switch (choice.kind) {
    case "variables":
      return {
        ...ofVariables(choice),
        by,
        file: undefined,
        name: undefined,
        project: undefined,
        defaults: {},
      };
    case "context":
      return { ...ofConfig(read(), choice.name), by, file: undefined, name: choice.name };
    case "state":
    case "nearest": {
      const found = choice.kind === "state" ? readState(resolve(io.cwd, choice.directory)) : nearest(io.cwd);
      const defaults = contextIn(read(), LOCAL) ?? {};
      return { ...found, by, name: LOCAL, project: undefined, defaults };
    }
  }
}

function ofVariables({ url, token }: { url: string; token: string }): { url: string; token: string } {
  if (parseToken(token).kind === "typo") {
    throw new CliError("DROVER_TOKEN has a typing error: its checksum does not match.", ["Copy it again."]);
  }
  return { url: checkedUrl(url, "DROVER_URL"), token };
}

function ofConfig(config: Config, name: string): Pick<Context, "url" | "token" | "project" | "defaults"> {
  const { url, token, project, ...defaults } = contextIn(config, name) ?? {};
  if (url !== undefined && token !== undefined) return { url, token, project, defaults };
  throw unknownContext(name, config);
}

/** The error for a context that does not exist. */
export function unknownContext(name: string, { contexts }: Config): CliError {
  const names = [LOCAL, ...Object.keys(contexts).filter((one) => one !== LOCAL)];
  return new CliError(`There is no context \`${printable(name)}\`.`, [
    `The contexts are: ${names.join(", ")}.`,
    `To make one: drover login <url> --name ${quoteArgv([name])}`,
  ]);
}

type Found = Pick<Context, "url" | "token"> & { file: string };

/** The Drover whose state is in this directory. */
function readState(directory: string): Found {
  const found = readContext(directory);
  if (found !== undefined) return found;
  throw new CliError(`No Drover is running with its state in ${directory}.`, [
    `Start it: drover up --state ${quoteArgv([directory])}`,
  ]);
}

function nearest(start: string): Found {
  for (let directory = resolve(start); ; directory = dirname(directory)) {
    const found =
      readContext(join(directory, DEFAULT_STATE_DIR)) ??
      (isStateDir(directory) ? readContext(directory) : undefined);
    if (found !== undefined) return found;
    if (directory === dirname(directory)) break;
  }
  throw new CliError("No Drover found in this directory or above it.", [
    "Start one here with `drover up`, or use one elsewhere: `drover login <url>`. For this command alone,",
    "set DROVER_STATE to its state directory, or DROVER_URL and DROVER_TOKEN.",
  ]);
}

/** Other tools write a `context.json`, too. Only `drover up` keeps an `up.json` beside it. */
function isStateDir(directory: string): boolean {
  return existsSync(join(directory, "up.json"));
}

function readContext(stateDir: string): Found | undefined {
  const file = join(stateDir, "context.json");
  const text = readOwnFile(file);
  if (text === undefined) return undefined;
  const { url, token } = contentOf(text);
  if (typeof token === "string" && typeof url === "string" && loopbackAddress(url) !== undefined) {
    return { url, token, file };
  }
  throw new CliError(`${file} is damaged.`, ["Stop that Drover and start it again with `drover up`."]);
}

/** The content of a context file, unchecked: its fields may have any type. */
function contentOf(text: string): { url?: unknown; token?: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
