// `drover provider`: does a provider keep its contract (pool.md#provider-promises), and what has it left?
import type { Command } from "commander";
import { CliError, EXIT } from "../errors.ts";
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
  drover provider test -f pool.json --credentials key.json
  drover provider test -f pool.json --create small --record test.json
  drover provider test --replay test.json`;

const DESTROY_HELP = `
Asks the provider from here which machines have the tag of the pool, and destroys them
all. No Drover is asked: this works after a control plane is gone, and also ends machines
that it would go on using. Without --yes the machines are only listed.

The exit code is ${EXIT.no} if a machine is left, or if that is not known.

Examples:
  drover provider destroy-all -f pool.json --credentials key.json
  drover provider destroy-all -f pool.json --credentials key.json --yes`;

/** The options, as they are given. */
interface Given {
  file?: string;
  create?: string;
  credentials?: string;
  record?: string;
  replay?: string;
  json?: boolean;
}

interface DestroyGiven {
  file: string;
  credentials?: string;
  yes?: boolean;
}

/** `drover provider`: tests a provider against its contract, or destroys what it has of a pool. */
export function addProvider(program: Command, io: Io, exitWith: (code: number) => void): void {
  const provider = program
    .command("provider")
    .summary("test a provider of machines, or destroy all machines of a pool there")
    .description("Tests a provider of machines, or destroys all machines of a pool there.");
  const file = "the configuration of the pool, or - for standard input";
  const credentials = "the credentials of a cloud, in a file, or - for standard input";
  provider
    .command("test")
    .summary("test a provider against its contract")
    .description("Tests the provider of a pool against its contract, and prints which promises it keeps.")
    .option("-f, --file <path>", file)
    .option("--credentials <path>", credentials)
    .option("--create <type>", "also create and destroy one machine of this instance type")
    .option("--record <path>", "also write all calls and their answers into this file")
    .option("--replay <path>", "call nobody: judge the answers in this file again")
    .option("--json", "print JSON: each finding with its rule, and what was measured")
    .addHelpText("after", HELP)
    .action(async ({ create: type, replay, json = false, ...given }: Given) => {
      // Loaded on demand: no other verb calls a provider.
      const { providerTest, replayTest } = await import("../provider-test/command.ts");
      if ((given.file === undefined) === (replay === undefined)) {
        throw new CliError("What is to be tested?", ["Give either --file or --replay."]);
      }
      if (replay !== undefined) return exitWith(await replayTest(io, replay, json));
      const { file: path = "", credentials: key, record } = given;
      exitWith(await providerTest(io, { file: path, type, credentials: key, record, json }));
    });
  provider
    .command("destroy-all")
    .summary("destroy all machines of a pool at its provider")
    .description("Destroys all machines with the tag of a pool at its provider, without asking a Drover.")
    .requiredOption("-f, --file <path>", file)
    .option("--credentials <path>", credentials)
    .option("--yes", "destroy them; without this they are only listed")
    .addHelpText("after", DESTROY_HELP)
    .action(async ({ file: path, credentials: key, yes = false }: DestroyGiven) => {
      const { destroyAll } = await import("../provider-test/destroy-all.ts");
      exitWith(await destroyAll(io, { file: path, credentials: key, yes }));
    });
}
