/** Exit codes of the command itself, as `docker run` and coreutils have them. */
export const EXIT = {
  /** What was asked for was done, and the answer is no (as `cmp(1)` and `grep(1)`). */
  no: 1,
  /** The run took longer than its `--timeout` (as `timeout(1)`). */
  timedOut: 124,
  /** Drover's own failure: bad usage, no answer, a machine lost, a run that never started. */
  drover: 125,
  notExecutable: 126,
  commandNotFound: 127,
} as const;

/** What the shell says of a program that signal number `n` ended. */
export function exitCodeOfSignal(n: number): number {
  return 128 + n;
}

/** A failure with words for a person: what happened and why, then what to do. */
export class CliError extends Error {
  override readonly name = "CliError";
  /** Further lines, each a plain sentence. */
  readonly hints: readonly string[];
  readonly exitCode: number;

  constructor(message: string, hints: readonly string[] = [], exitCode: number = EXIT.drover) {
    super(message);
    this.hints = hints;
    this.exitCode = exitCode;
  }
}
