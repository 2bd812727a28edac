// With which exit code has an attempt ended, as a shell reports it?
import type { Exit } from "../../../schema/run/run.ts";

/** Signal numbers, for the exit code that a shell would give (128 + n). */
const SIGNAL_NUMBERS: Record<string, number> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGSYS: 31,
};

/** The exit code that a shell would give: 128 + n after signal n. Null: it is unknown. */
export function shellCode({ code, signal }: Pick<Exit, "code" | "signal">): number | null {
  return signal === null ? code : 128 + (SIGNAL_NUMBERS[signal] ?? 0);
}
