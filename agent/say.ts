// How does the agent log?

/** Logs one line to stderr, for the operator of this machine: never a secret, never a task's output. */
export function say(text: string): void {
  process.stderr.write(`drover-agent: ${text}\n`);
}
