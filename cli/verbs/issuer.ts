// `drover issuer`: the keys with which Drover signs tokens of runs.
import type { Command } from "commander";
import { connect } from "../context.ts";
import type { Io } from "../terminal/io.ts";
import { asJson } from "../terminal/text.ts";

/** `drover issuer`: replaces the keys with which Drover signs the tokens of runs. */
export function addIssuer(program: Command, io: Io): void {
  const issuer = program
    .command("issuer")
    .summary("replace the keys that sign tokens of runs")
    .description("A Drover signs tokens for runs with `identity`, which clouds and vaults accept.");
  issuer
    .command("replace-keys")
    .summary("replace all keys at once, because somebody else may know them")
    .description(
      "Deletes all keys that sign tokens of runs, and makes a new one. Needs the admin token. Tokens that " +
        "were signed before are refused as soon as those who verify them read the keys again.",
    )
    .option("--json", "print JSON")
    .action(async ({ json }: { json?: boolean }) => {
      const { client } = connect(io);
      const replaced = await client.trust.replaceOwnKeys();
      if (json === true) await io.stdout.write(`${asJson(replaced)}\n`);
      else await io.say(`the keys are replaced: ${replaced.kid} signs from now on`);
    });
}
