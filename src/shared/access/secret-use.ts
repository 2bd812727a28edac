// For whom is a secret, and how is such a secret set (secrets.md#uses)?

/** Who can name a secret: tasks of runs, or the configuration of a pool for its provider. */
export const SECRET_PURPOSES = ["run", "provider"] as const;
export type SecretPurpose = (typeof SECRET_PURPOSES)[number];

/**
 * The command that sets a secret for this use, as messages advise it. It names the use, so it is refused
 * where it would replace the value of a secret for another use.
 */
export function howToSet(name: string, use: SecretPurpose): string {
  return `\`drover secrets set ${name} - --use ${use}\``;
}

/** Who can name a secret, in words. */
export function usersOf(use: SecretPurpose): string {
  return use === "run" ? "runs" : "providers";
}
