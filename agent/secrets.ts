// Which secret values does this agent know of an attempt?

/**
 * The secret values of an attempt, which must not leave this machine in the attempt's output
 * (redaction.md#secrets). The function is called at each look at the output, so it answers from memory. It
 * must return each value from before the first byte of output until the attempt is forgotten, even after a
 * restart of the agent. It may return more values later. Hosts do not receive secrets yet, so there are none.
 */
export function secretsOf(_attemptId: string): readonly Uint8Array[] {
  return [];
}
