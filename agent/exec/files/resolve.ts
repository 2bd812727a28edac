// Can a command be started on this machine, in its directory?
import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import type { StartError } from "../../../src/schema/host.ts";

/** Linux reads this much of a file to find its interpreter (`BINPRM_BUF_SIZE`). */
export const MAX_FIRST_LINE_BYTES = 256;

/** The file of a command, or why it cannot be started. */
export type Resolved = { ok: true; file: string } | { ok: false; startError: StartError };

/**
 * Finds a command as `execvp` would: a name with a slash is a path from `dir`, any other is searched for in
 * `path`. This comes before the start, because afterwards a missing program looks like a program that exits
 * with 126 or 127.
 */
export function resolveCommand(name: string, path: string, dir: string): Resolved {
  const missing = dirProblem(dir);
  if (missing !== undefined) return missing;
  if (name.includes("/")) {
    const file = resolve(dir, name);
    const kind = kindOf(file);
    if (kind === "program") return { ok: true, file };
    return kind === "absent"
      ? refusal("command_not_found", `There is no ${name} on this machine, relative to ${dir}.`)
      : refusal("not_executable", `${name} exists, but it is not a program that this user may execute.`);
  }
  const files = path.split(":").map((folder) => resolve(dir, folder, name));
  const file = files.find((candidate) => kindOf(candidate) === "program");
  if (file !== undefined) return { ok: true, file };
  return files.some((candidate) => kindOf(candidate) === "other")
    ? refusal("not_executable", `${name} is on the PATH, but it is not a program that this user may execute.`)
    : refusal("command_not_found", `There is no ${name} on this machine's PATH (${path}).`);
}

/**
 * Why a script cannot start: the interpreter in its first line is missing, or is not a program. `beginning`:
 * the first `MAX_FIRST_LINE_BYTES` of the file. Undefined if no problem is known, or the file is not a
 * script.
 */
export function scriptProblem(file: string, beginning: string, dir: string): StartError | undefined {
  const name = interpreterOf(beginning);
  if (name === undefined) return undefined;
  // The system searches for a name without a slash in the directory, not on the PATH.
  const resolved = resolveCommand(name.includes("/") ? name : `./${name}`, "", dir);
  if (resolved.ok) return undefined;
  const { code, text } = resolved.startError;
  return { code, text: `The first line of ${file} names its interpreter. ${text}` };
}

/** The interpreter in the first line of a script, as the system reads it (`execve(2)`). */
function interpreterOf(beginning: string): string | undefined {
  return /^#![ \t]*([^ \t\n\0]+)(?:[ \t\n\0]|$)/.exec(beginning)?.[1];
}

function dirProblem(dir: string): Resolved | undefined {
  const isDir = statSync(dir, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isDir ? undefined : refusal("directory_not_found", `There is no directory ${dir} on this machine.`);
}

function kindOf(file: string): "program" | "other" | "absent" {
  try {
    if (!statSync(file).isFile()) return "other";
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

function refusal(code: StartError["code"], text: string): Resolved {
  return { ok: false, startError: { code, text } };
}
