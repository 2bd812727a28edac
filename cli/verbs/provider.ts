import type { Command } from "commander";
import { EXIT } from "../errors.ts";
import type { Io } from "../terminal/io.ts";

interface TestFlags {
  file: string;
  create?: string;
  json?: boolean;
}

const HELP = `
Calls the provider of a pool as Drover would, from here, and judges its answers.
Neither Drover nor the pool is needed. Without --create nothing is made or
changed: it lists machines, and asks for the end of one that there is not. With
--create one machine of that type is made and destroyed: it costs what the
provider takes for it. Ctrl-C ends the machine first.

The exit code is ${EXIT.no} if a promise is broken, could not be judged, or a machine is left.

Examples:
  drover provider test -f pool.json
  drover provider test -f pool.json --create small`;

/**
 * `drover provider test`: is this service what Drover expects of a provider?
 * (pool.md#provider-promises)
 */
export function addProvider(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("provider")
    .summary("test a provider of machines")
    .description("Tests a provider of machines.")
    .command("test")
    .summary("hold a provider to its contract")
    .description("Holds the provider of a pool to its contract, and prints what it keeps and what it breaks.")
    .requiredOption("-f, --file <path>", "the configuration of the pool, or - for standard input")
    .option("--create <type>", "create and destroy one machine of this instance type, too")
    .option("--json", "print JSON: each finding with its rule, and what was measured")
    .addHelpText("after", HELP)
    .action(async ({ file, create, json }: TestFlags) => {
      // Loaded here alone: no other verb calls a provider itself.
      const { providerTest } = await import("../provider-test.ts");
      exitWith(await providerTest(io, { file, type: create, json: json === true }));
    });
}
