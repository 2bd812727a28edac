// Which secret values does this agent know of an attempt?

/**
 * The values that must not leave this machine in what an attempt writes (redaction.md#secrets). Asked at each
 * look at its output, so it answers from memory. What it names of an attempt it must name from before the
 * first byte of output until the attempt is forgotten, also after a restart of the agent; more values may be
 * added meanwhile. No secrets are delivered to hosts yet, so there are none.
 */
export function secretsOf(_attemptId: string): readonly Uint8Array[] {
  return [];
}
