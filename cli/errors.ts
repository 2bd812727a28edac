// The exit codes of this command, and its error with a message for people.

/** Exit codes of the command itself, the same as those of `docker run` and coreutils. */
export const EXIT = {
  /** The question was answered, and the answer is no (as with `cmp(1)` and `grep(1)`). */
  no: 1,
  /** The run took longer than its `--timeout` (as with `timeout(1)`). */
  timedOut: 124,
  /** Drover failed: bad usage, no answer, a lost machine, a run that never started. */
  drover: 125,
  notExecutable: 126,
  commandNotFound: 127,
} as const;

/** The exit code that a shell reports for a program that was ended by signal number `n`. */
export function exitCodeOfSignal(n: number): number {
  return 128 + n;
}

/** A failure with a message for people: what happened and why, then what to do. */
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
