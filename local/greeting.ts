import { accessSync, constants, realpathSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { quoteArgv } from "../src/shared/shell-words.ts";
import { DEFAULT_STATE_DIR } from "./state/state-dir.ts";

/** What npm and npx put in front of the PATH of what they start: another terminal does not have it. */
const OF_NPM = /[\\/]node_modules[\\/](?:\.bin|.*[\\/]node-gyp-bin)$/;

/**
 * What is typed in another terminal to reach a Drover with its state in `stateDir`. Each line works as it is,
 * wherever that terminal is. `script` is the file of the command that is running now.
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

/** Whether this very command is what `drover` means to a shell of the person. */
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
