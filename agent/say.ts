/**
 * Says something to whoever looks after this machine, on one line of stderr. Never a secret, never a task's
 * output.
 */
export function say(text: string): void {
  process.stderr.write(`drover-agent: ${text}\n`);
}
