// `drover pools check`: can a pool make machines, as far as its cloud says so without making one?
import type { Command } from "commander";
import { EXIT } from "../errors.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
Asks the cloud from here, with the credentials that you give, and changes nothing there:
are the credentials good, may they do what Drover does, are the names right, is there
room? \`unknown\` is what the cloud does not say. The exit code is ${EXIT.no} if something is missing.

Examples:
  drover pools check ci --credentials key.json
  drover pools check -f pool.json --credentials key.json
  printf %s "$TOKEN" | drover pools check ci --credentials -`;

interface Given {
  file?: string;
  credentials?: string;
  json?: boolean;
}

/** `drover pools check`: checks a pool, or a file, against its cloud (clouds.md#checks). */
export function addPoolsCheck(pools: Command, io: Io, exitWith: (code: number) => void): void {
  pools
    .command("check")
    .summary("check whether a pool can make machines")
    .description("Checks the configuration and the credentials of a pool against its cloud.")
    .argument("[pool]", "the name of a pool")
    .option("-f, --file <path>", "the configuration of a pool instead, or - for standard input")
    .option("--credentials <path>", "the credentials of the cloud, in a file, or - for standard input")
    .option("--json", "print JSON: each finding, and the worst bill of an hour")
    .addHelpText("after", HELP)
    .action(async (name: string | undefined, given: Given, command: Command) => {
      // The parser takes the options that `drover pools` has, too, for that command.
      const { file, credentials, json = false } = { ...given, ...command.optsWithGlobals<Given>() };
      // Loaded on demand: few verbs call a cloud.
      const { poolCheck } = await import("../pool-check/command.ts");
      exitWith(await poolCheck(io, { name, file, credentials, json }));
    });
}
