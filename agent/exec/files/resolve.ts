// Can a task's command be started here, in its directory?
import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import type { StartError } from "../../../src/schema/host.ts";

/** Linux reads so much of a file to find out what it is (`BINPRM_BUF_SIZE`). */
export const MAX_FIRST_LINE_BYTES = 256;

/** Whether a task can be started: its command and directory as they are on this machine. */
export type Resolved = { ok: true; file: string } | { ok: false; startError: StartError };

/**
 * Finds a command as `execvp` would: a name with a slash is a path from `dir`, any other is looked for in
 * `path`. It is done before the start, so that a program that itself exits 126 or 127 is not taken for one
 * that is missing.
 */
export function resolveCommand(name: string, path: string, dir: string): Resolved {
  const missing = dirProblem(dir);
  if (missing !== undefined) return missing;
  if (name.includes("/")) {
    const file = resolve(dir, name);
    const kind = kindOf(file);
    if (kind === "program") return { ok: true, file };
    return kind === "absent"
      ? refuse("command_not_found", `There is no ${name} on this machine. It is looked for from ${dir}.`)
      : refuse("not_executable", `${name} is there, but it is no program that this user may execute.`);
  }
  const files = path.split(":").map((folder) => resolve(dir, folder, name));
  const file = files.find((candidate) => kindOf(candidate) === "program");
  if (file !== undefined) return { ok: true, file };
  return files.some((candidate) => kindOf(candidate) === "other")
    ? refuse("not_executable", `${name} is on the PATH, but it is no program that this user may execute.`)
    : refuse("command_not_found", `There is no ${name} on this machine's PATH (${path}).`);
}

/**
 * What keeps a script from starting: its first line names a program that is not on this machine, or is none.
 * `beginning`: its first `MAX_FIRST_LINE_BYTES`, or all of it. Undefined if nothing is known to keep it; what
 * is no script is not judged.
 */
export function scriptProblem(file: string, beginning: string, dir: string): StartError | undefined {
  const name = interpreterOf(beginning);
  if (name === undefined) return undefined;
  // The system looks for one without a slash in the directory, not on the PATH.
  const resolved = resolveCommand(name.includes("/") ? name : `./${name}`, "", dir);
  if (resolved.ok) return undefined;
  const { code, text } = resolved.startError;
  return { code, text: `The first line of ${file} names its interpreter. ${text}` };
}

/** The program that the first line of a script names, as the system reads it (`execve(2)`). */
function interpreterOf(beginning: string): string | undefined {
  return /^#![ \t]*([^ \t\n\0]+)(?:[ \t\n\0]|$)/.exec(beginning)?.[1];
}

function dirProblem(dir: string): Resolved | undefined {
  const isDir = statSync(dir, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isDir ? undefined : refuse("directory_not_found", `There is no directory ${dir} on this machine.`);
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

function refuse(code: StartError["code"], text: string): Resolved {
  return { ok: false, startError: { code, text } };
}
