// Which valid configurations of a pool have effects that surprise people?
import type { ProviderKind } from "./kinds.ts";

/** The part of a pool's configuration on which there is advice. */
interface Advised {
  provider: { kind: ProviderKind; sshKeys?: string[] | undefined };
}

/** Sentences for people who put this configuration. */
export function poolAdvice({ provider: { kind, sshKeys = [] } }: Advised): string[] {
  if (kind !== "hetzner" || sshKeys.length > 0) return [];
  const why = "Without an SSH key, Hetzner sends an e-mail with a password for each machine";
  return [`${why}: name a key of the project in \`provider.sshKeys\``];
}
