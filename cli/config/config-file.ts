// Where is the config file, and how is it read and written without losing anything?
import { existsSync } from "node:fs";
import { dirname, posix, win32 } from "node:path";
import { writeAtomically } from "../../disk/atomic.ts";
import { makeDirs } from "../../disk/make-dirs.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import { errorText } from "../../src/shared/words.ts";
import { CliError } from "../errors.ts";
import { readPrivateFile } from "../own-file.ts";
import type { Io } from "../terminal/io.ts";
import { type Config, type ConfigFault, emptyConfig, parseConfig } from "./config.ts";

type Env = Pick<Io, "env">;

/** The folder of the file has tokens in it. */
const PRIVATE_DIR = 0o700;

/**
 * The path of the config file (cli.md#config): below `XDG_CONFIG_HOME` if that is an absolute path, else
 * below `~/.config`, or on Windows below `APPDATA`. Undefined if this process has no such place.
 */
export function configPath({ env }: Env, platform = process.platform): string | undefined {
  const isWindows = platform === "win32";
  const { isAbsolute, join } = isWindows ? win32 : posix;
  const { XDG_CONFIG_HOME: xdg = "", HOME: home = "", APPDATA: data = "" } = env;
  const usual = isWindows ? data : home && join(home, ".config");
  const folder = [xdg, usual].find((one) => isAbsolute(one));
  return folder === undefined ? undefined : join(folder, "drover", "config");
}

/** Reads the config; an empty one if there is no file. Throws a `CliError` for a file that cannot be used. */
export function readConfig(io: Env): Config {
  const path = configPath(io);
  const text = path === undefined ? undefined : readPrivateFile(path, privacyHints(path));
  if (path === undefined || text === undefined) return emptyConfig();
  const read = parseConfig(text);
  if ("fault" in read) throw unusable(path, read);
  return read;
}

/**
 * Changes the config, and writes the file whole or not at all, for its owner alone. A file that cannot be
 * read is never replaced. Returns the path.
 */
export function changeConfig(io: Env, change: (config: Config) => Config): string {
  const path = configPath(io);
  if (path === undefined) {
    const home = process.platform === "win32" ? "APPDATA" : "HOME";
    throw new CliError(`${home} is not set, so there is no place for the config file.`, [
      `Set ${home}, or XDG_CONFIG_HOME, to an absolute path.`,
    ]);
  }
  const changed = change(readConfig(io));
  try {
    if (!existsSync(dirname(path))) makeDirs(dirname(path), PRIVATE_DIR);
    writeAtomically(path, `${JSON.stringify(changed, null, 2)}\n`);
  } catch (error) {
    throw new CliError(`Cannot write ${path}: ${errorText(error)}`, [
      "Nothing has changed. Set XDG_CONFIG_HOME to a directory that you can write to.",
    ]);
  }
  return path;
}

function unusable(path: string, { fault, isOtherVersion }: ConfigFault): CliError {
  const aside = `mv ${quoteArgv([path, `${path}.old`])}`;
  const what = isOtherVersion
    ? "Use the version of drover that has written it, or keep it aside and log in again:"
    : "Mend it, or keep it aside and log in again:";
  return new CliError(`${path} cannot be used: ${fault}.`, [
    `Nothing has been changed. ${what}`,
    aside,
    "With DROVER_URL and DROVER_TOKEN the file is not read.",
  ]);
}

function privacyHints(path: string): string[] {
  return [
    "This file has your tokens, and decides where your commands and files go. Make it yours alone:",
    `chmod 700 ${quoteArgv([dirname(path)])} && chmod 600 ${quoteArgv([path])}`,
    "With DROVER_URL and DROVER_TOKEN the file is not read.",
  ];
}
