import { isSafeAddress } from "../../src/shared/proof.ts";

/** The same URL, if a host may speak to it. Throws with what to do. */
export function safeUrl(url: string): URL {
  if (isSafeAddress(url)) return new URL(url);
  const shown = URL.canParse(url) ? new URL(url).origin : JSON.stringify(url);
  throw new UnsafeUrl(
    `${shown} is no address for a host: reports and orders carry output and environments, so it must be ` +
      "https, or http of this very machine (127.0.0.1). Set DROVER_URL to it.",
  );
}

/** An address that a host does not speak to, however often it is asked to. */
export class UnsafeUrl extends Error {
  override readonly name = "UnsafeUrl";
}
