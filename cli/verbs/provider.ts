// `drover provider test`: does a service keep the contract of a provider (pool.md#provider-promises)?
import type { Command } from "commander";
import { EXIT } from "../errors.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
Calls the provider of a pool from here, as Drover would, and judges its answers.
Neither Drover nor the pool needs to exist. Without --create nothing is created or
changed: the test lists machines, and destroys one that does not exist. With
--create it creates and destroys one machine of that type, at the provider's
price. Ctrl-C destroys the machine before it exits.

The exit code is ${EXIT.no} if a promise is broken or could not be judged, or a machine is left.

Examples:
  drover provider test -f pool.json
  drover provider test -f pool.json --create small
  drover provider test -f pool.json --credentials key.json`;

/** The options, as they are given. */
interface Given {
  file: string;
  create?: string;
  credentials?: string;
  json?: boolean;
}

/** `drover provider test`: tests a provider against its contract (pool.md#provider-promises). */
export function addProvider(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("provider")
    .summary("test a provider of machines")
    .description("Tests a provider of machines.")
    .command("test")
    .summary("test a provider against its contract")
    .description("Tests the provider of a pool against its contract, and prints which promises it keeps.")
    .requiredOption("-f, --file <path>", "the configuration of the pool, or - for standard input")
    .option("--credentials <path>", "the credentials of a cloud, in a file, or - for standard input")
    .option("--create <type>", "also create and destroy one machine of this instance type")
    .option("--json", "print JSON: each finding with its rule, and what was measured")
    .addHelpText("after", HELP)
    .action(async ({ file, create: type, credentials, json = false }: Given) => {
      // Loaded on demand: no other verb calls a provider.
      const { providerTest } = await import("../provider-test/command.ts");
      exitWith(await providerTest(io, { file, type, credentials, json }));
    });
}
