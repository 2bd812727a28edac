// Which Drover does this command talk to, and with which token? Verbs get their client from `connect`.
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Client, createClient } from "../client/client.ts";
import { PROJECT_NAME, PROJECT_NAME_TEXT } from "../src/shared/access/project.ts";
import { parseToken } from "../src/shared/access/token-text.ts";
import { isSafeAddress, loopbackAddress } from "../src/shared/proof.ts";
import { quoteArgv } from "../src/shared/shell-words.ts";
import { CliError } from "./errors.ts";
import { readOwnFile } from "./own-file.ts";
import type { Io } from "./terminal/io.ts";

/** The Drover that this command talks to. */
export interface Context {
  url: string;
  token: string;
  /**
   * The context file that `drover up` wrote, if the Drover is local. The machines of a local Drover are
   * processes on this machine.
   */
  file: string | undefined;
}

declare const DROVER_VERSION: string;

/** Where `drover up` keeps its state, in the directory in which it is started. */
export const DEFAULT_STATE_DIR = ".drover";

/** The parts of the process that choose a Drover. */
export type Where = Pick<Io, "env" | "cwd" | "state">;

/**
 * Returns a client for the chosen Drover. If no Drover is chosen, throws a `CliError` that says what to do.
 */
export function connect(io: Io): { client: Client; context: Context } {
  const context = findContext(io);
  const { url, token } = context;
  const project = io.project ?? projectFrom(io.env.DROVER_PROJECT);
  const client = createClient({ url, token, project, userAgent: `drover/${DROVER_VERSION}` });
  return { client, context };
}

/** The project that a variable names. A name that cannot be one is never sent. */
function projectFrom(name: string | undefined): string | undefined {
  if (name === undefined || name === "") return undefined;
  if (PROJECT_NAME.test(name)) return name;
  throw new CliError(`DROVER_PROJECT is no name of a project: ${name}`, [`It ${PROJECT_NAME_TEXT}.`]);
}

/**
 * Finds the Drover to talk to. The first of these wins:
 *
 * 1. `drover --state <directory>`,
 * 2. `DROVER_URL` with `DROVER_TOKEN`, or `DROVER_STATE`,
 * 3. the nearest state of a `drover up`, in this directory or a directory above it, as Git finds `.git`. The
 *    state is the `.drover` in a directory, or the directory itself if it is a state directory.
 *
 * `DROVER_TOKEN` without `DROVER_URL`, or the reverse, is an error: a token is sent only to the Drover to
 * which the token belongs. A state directory of another user is refused (`own-file.ts`).
 */
export function findContext(io: Where): Context {
  const url = io.env.DROVER_URL || undefined;
  const token = io.env.DROVER_TOKEN || undefined;
  const named = io.env.DROVER_STATE || undefined;
  if (token !== undefined && url === undefined) {
    throw new CliError(
      "DROVER_TOKEN is set, but DROVER_URL is not, so it is unclear which Drover the token is for.",
      ["Set DROVER_URL to that Drover, or unset DROVER_TOKEN to use a local one."],
    );
  }
  if (io.state !== undefined) return readState(resolve(io.cwd, io.state));
  if (url !== undefined && named !== undefined) {
    throw new CliError("DROVER_URL and DROVER_STATE are both set, but only one can choose the Drover.", [
      "Unset one of them.",
    ]);
  }
  if (url !== undefined) {
    if (token === undefined) {
      throw new CliError("DROVER_URL is set, but DROVER_TOKEN is not.", [
        "Set DROVER_TOKEN to a token of that Drover, or unset DROVER_URL to use a local one.",
      ]);
    }
    if (parseToken(token).kind === "typo") {
      throw new CliError("DROVER_TOKEN has a typing error: its checksum does not match.", ["Copy it again."]);
    }
    return { url: checkedUrl(url), token, file: undefined };
  }
  if (named !== undefined) return readState(resolve(io.cwd, named));
  const found = readUpwards(io.cwd);
  if (found === undefined) {
    throw new CliError("No Drover found in this directory or above it.", [
      "Start one here with `drover up`, or point to one: set DROVER_STATE to its state directory, or",
      "DROVER_URL and DROVER_TOKEN.",
    ]);
  }
  return found;
}

type Found = Context & { file: string };

/** The Drover whose state is in this directory. */
function readState(directory: string): Found {
  const found = readContext(directory);
  if (found !== undefined) return found;
  throw new CliError(`No Drover is running with its state in ${directory}.`, [
    `Start it: drover up --state ${quoteArgv([directory])}`,
  ]);
}

function checkedUrl(text: string): string {
  if (isSafeAddress(text)) return text;
  if (URL.canParse(text) && new URL(text).protocol === "http:") {
    throw new CliError(`DROVER_URL is ${text}: over plain http, others could read your token.`, [
      "Use its https: address. Or forward its port to the same port of this machine (ssh -L), and set",
      "DROVER_URL to http://127.0.0.1 with that port.",
    ]);
  }
  throw new CliError(`DROVER_URL is not an http or https URL: ${text}`, [
    "Write it as https://drover.example.com",
  ]);
}

function readUpwards(start: string): Found | undefined {
  for (let directory = resolve(start); ; directory = dirname(directory)) {
    const found =
      readContext(join(directory, DEFAULT_STATE_DIR)) ??
      (isStateDir(directory) ? readContext(directory) : undefined);
    if (found !== undefined) return found;
    if (directory === dirname(directory)) return undefined;
  }
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
