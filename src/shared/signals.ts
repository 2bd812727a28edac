// Which signals can a task be sent?

/** The signals that the process of a task can be sent. */
export const SIGNALS = [
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGKILL",
  "SIGUSR1",
  "SIGUSR2",
  "SIGALRM",
  "SIGTERM",
] as const;
