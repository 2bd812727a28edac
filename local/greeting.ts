// What does `drover up` print when it is ready?
import { accessSync, constants, realpathSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { quoteArgv } from "../src/shared/shell-words.ts";
import { DEFAULT_STATE_DIR } from "./state/state-dir.ts";

/** Folders that npm and npx prepend to the PATH of their children. Another terminal does not have them. */
const OF_NPM = /[\\/]node_modules[\\/](?:\.bin|.*[\\/]node-gyp-bin)$/;

/**
 * The lines to type in another terminal, in any directory, to use a Drover with its state in `stateDir`.
 * `script` is the file of the command that is running now.
 */
export function linesToTry(stateDir: string, script: string, path: string): string[] {
  const isFound = basename(stateDir) === DEFAULT_STATE_DIR;
  const where = isFound
    ? quoteArgv(["cd", dirname(stateDir)])
    : `export ${quoteArgv([`DROVER_STATE=${stateDir}`])}`;
  const file = realpathSync(script);
  const alias = isOnPath(file, path) ? [] : [`alias ${quoteArgv([`drover=${quoteArgv([file])}`])}`];
  return [...alias, where, "drover run -- uname -a"];
}

/** Whether `drover` in the user's shell is this very command. */
function isOnPath(file: string, path: string): boolean {
  const folders = path.split(delimiter).filter((folder) => folder !== "" && !OF_NPM.test(folder));
  const found = folders.map((folder) => join(folder, "drover")).find(isExecutable);
  return found !== undefined && realpathSync(found) === file;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
