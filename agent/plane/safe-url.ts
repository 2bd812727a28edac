// May a host talk to this address? Only https, or http on this machine.
import { isSafeAddress } from "../../src/shared/proof.ts";

/** The parsed URL, if a host may talk to it. Throws an `UnsafeUrl` that says what to do. */
export function safeUrl(url: string): URL {
  if (isSafeAddress(url)) return new URL(url);
  const shown = URL.canParse(url) ? new URL(url).origin : JSON.stringify(url);
  throw new UnsafeUrl(
    `${shown} is not safe for a host: reports and orders carry output and environments, so it must be ` +
      "https, or http on this machine (127.0.0.1). Set DROVER_URL accordingly.",
  );
}

/** An address that a host never talks to; retrying is pointless. */
export class UnsafeUrl extends Error {
  override readonly name = "UnsafeUrl";
}
