// For whom is a secret, and how is such a secret set (secrets.md#uses)?

/** Who can name a secret. */
export type SecretUser = "run" | "provider";

/**
 * The command that sets a secret for this use, as messages advise it. It names the use, so it is refused
 * where it would replace the value of a secret for another use.
 */
export function howToSet(name: string, use: SecretUser): string {
  return `\`drover secrets set ${name} - --use ${use}\``;
}

/** Who can name a secret, in words. */
export function usersOf(use: SecretUser): string {
  return use === "run" ? "runs" : "providers";
}
