// May a token be sent to the address that somebody has written?
import { isSafeAddress } from "../../src/shared/proof.ts";
import { CliError } from "../errors.ts";
import { printable } from "../terminal/text.ts";

/** Returns the URL of a Drover. Throws a `CliError` that begins with `what` if no token may be sent there. */
export function checkedUrl(text: string, what: string): string {
  if (isSafeAddress(text)) return text;
  const shown = printable(text);
  if (URL.canParse(text) && new URL(text).protocol === "http:") {
    throw new CliError(`${what} is ${shown}: over plain http, others could read your token.`, [
      "Use its https: address. Or forward its port to the same port of this machine (ssh -L), and use",
      "http://127.0.0.1 with that port.",
    ]);
  }
  throw new CliError(`${what} is not an http or https URL: ${shown}`, [
    "Write it as https://drover.example.com",
  ]);
}
