// Can a command be started on this machine, in its directory?
import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import type { StartError } from "../../../src/schema/host.ts";
import { StartFault } from "../start-fault.ts";

/** Linux reads this much of a file to find its interpreter (`BINPRM_BUF_SIZE`). */
export const MAX_FIRST_LINE_BYTES = 256;

/**
 * Finds the file of a command as `execvp` would: a name with a slash is a path from `dir`; any other name is
 * searched for in `path`. The check comes before the start, because after the start a missing program looks
 * like a program that exits with 126 or 127. Throws a `StartFault`. `context`: a sentence to put before the
 * fault's text.
 */
export function resolveCommand(name: string, path: string, dir: string, context = ""): string {
  const fault = (code: StartError["code"], text: string) => new StartFault(code, context + text);
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) {
    throw fault("directory_not_found", `There is no directory ${dir} on this machine.`);
  }
  const isPath = name.includes("/");
  const files = isPath ? [resolve(dir, name)] : path.split(":").map((folder) => resolve(dir, folder, name));
  const file = files.find((one) => kindOf(one) === "program");
  if (file !== undefined) return file;
  if (files.some((one) => kindOf(one) === "other")) {
    const where = isPath ? "exists" : "is on the PATH";
    throw fault("not_executable", `${name} ${where}, but it is not a program that this user may execute.`);
  }
  const where = isPath ? `, relative to ${dir}` : `'s PATH (${path})`;
  throw fault("command_not_found", `There is no ${name} on this machine${where}.`);
}

/**
 * Throws a `StartFault` if a script cannot start because the interpreter in its first line is missing, or is
 * not a program. `beginning`: the first `MAX_FIRST_LINE_BYTES` of the file.
 */
export function checkScript(file: string, beginning: string, dir: string): void {
  const name = interpreterOf(beginning);
  if (name === undefined) return;
  // The system looks for an interpreter without a slash in the working directory, not on the PATH.
  const path = name.includes("/") ? name : `./${name}`;
  resolveCommand(path, "", dir, `The first line of ${file} names its interpreter. `);
}

/** The interpreter in the first line of a script, as the system reads it (`execve(2)`). */
function interpreterOf(beginning: string): string | undefined {
  return /^#![ \t]*([^ \t\n\0]+)(?:[ \t\n\0]|$)/.exec(beginning)?.[1];
}

function kindOf(file: string): "program" | "other" | "absent" {
  try {
    // Most folders of the PATH lack the program, and an error takes longer than the answer.
    const found = statSync(file, { throwIfNoEntry: false });
    if (found === undefined) return "absent";
    if (!found.isFile()) return "other";
  } catch {
    return "absent";
  }
  try {
    accessSync(file, constants.X_OK);
    return "program";
  } catch {
    return "other";
  }
}
