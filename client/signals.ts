// Which signals can a task be sent?
import type { SignalName } from "./types.ts";

/** Every signal that a task can be sent, by its name in the API. */
export const SIGNAL_NAMES = [
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGKILL",
  "SIGUSR1",
  "SIGUSR2",
  "SIGALRM",
  "SIGTERM",
] as const satisfies readonly SignalName[];
