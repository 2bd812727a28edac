import type { SignalName } from "./types.ts";

/** Every signal that the process of a task can be sent, as the API names them. */
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
