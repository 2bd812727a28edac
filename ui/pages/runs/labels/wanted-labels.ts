// Which labels does the address name, as the API has them?

/**
 * Labels written `name=value` or `name:value` as names and values. Undefined if one has no name or no value,
 * or a name is there twice: an action on all runs with these labels would be about others than it says
 * (ui.md#d19).
 */
export function wantedLabels(labels: readonly string[]): Record<string, string> | undefined {
  const pairs = new Map<string, string>();
  for (const label of labels) {
    // As the list asks for them: the first sign of equality stands for a colon.
    const [, name, value] = /^([^:]+):(.+)$/s.exec(label.replace("=", ":")) ?? [];
    if (name === undefined || value === undefined || pairs.has(name)) return undefined;
    pairs.set(name, value);
  }
  return pairs.size === 0 ? undefined : Object.fromEntries(pairs);
}
