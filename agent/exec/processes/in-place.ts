// How does a command run beside a main process: as its user, in its directory, with its environment?
import type { Inside } from "./inside.ts";

/** The exit code of a command whose user cannot enter its directory, as of one that cannot be executed. */
const NOT_ENTERED = 126;
/**
 * As the user of the run, enters the directory, takes the environment from descriptor 7 and runs the command.
 * Before the user was taken on, the run could lead a root agent anywhere, by a link in the place of the
 * directory. The descriptor is read and not opened again: only the agent's user may open the file.
 */
const IN_PLACE = `cd -P -- "$1" || {
  echo "drover: the directory of the task is gone, or its user cannot enter it: $1" >&2
  exit ${NOT_ENTERED}
}
shift; unset OLDPWD; eval "$(cat <&7)"; exec 7<&-; exec "$@"`;

/**
 * The words of a command in this place. On the machine itself they take its environment from descriptor 7
 * (`exportsOf`). `mark`: an entry of the environment by which all processes of the command are found.
 */
export function wordsInPlace(
  { before, dir, contained }: Pick<Inside, "before" | "dir" | "contained">,
  argv: string[],
  mark: string,
): string[] {
  const onMachine = () => [...before, "/bin/sh", "-c", IN_PLACE, "sh", dir, ...argv];
  return contained?.(argv, [mark], false) ?? onMachine();
}

/**
 * Commands of a shell that set these variables, except the one that marks the command's own processes. A
 * shell cannot set a variable with another name.
 */
export function exportsOf(env: Record<string, string>, mark: string): string {
  const named = Object.entries(env).filter(([name]) => /^[A-Za-z_]\w*$/.test(name) && name !== mark);
  return named.map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`).join("");
}
