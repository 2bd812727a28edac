// `drover pools delete`: deletes a pool, now or as soon as it is empty.
import type { Command } from "commander";
import { ApiError } from "../../client/errors.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { warnOfLeftBehind } from "../left-behind.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";

const HELP = `
Examples:
  drover pools delete build
  drover pools delete --drain build
  drover pools delete --force build`;

const DRAINS = "takes no more runs, and is deleted once its runs have ended and its machines are gone";
const FORCED = "takes no more runs; its runs and machines are being killed, and then it is deleted";

/** `drover pools delete`: deletes an empty pool, or empties a pool and then deletes it. */
export function addPoolsDelete(pools: Command, io: Io): void {
  pools
    .command("delete")
    .summary("delete a pool")
    .description(
      "Deletes a pool without machines or unfinished runs. Ended runs are kept until their retention ends.",
    )
    .argument("<pool>", "the name of the pool")
    .option("--drain", "take no more runs, wait for its runs to end, end its machines, then delete it")
    .option("--force", "kill its runs and machines now, even if its provider does not answer")
    .addHelpText("after", HELP)
    .action(async (name: string, flags: { drain?: boolean; force?: boolean }) => {
      const { client } = connect(io);
      const { deleted, leftBehind = [] } = await client.pools.delete(name, flags).catch((error) => {
        throw error instanceof ApiError && error.code === "pool_in_use" ? inUse(name) : error;
      });
      await warnOfLeftBehind(io, leftBehind);
      const goesOn = flags.force === true ? FORCED : DRAINS;
      await io.stdout.write(`${name} ${deleted ? "is deleted" : goesOn}\n`);
    });
}

function inUse(name: string): CliError {
  return new CliError(`Pool ${printable(name)} has machines, or runs that have not ended.`, [
    `Delete it once they have ended: drover pools delete --drain ${quoteArgv([name])}`,
    `Or kill them now: drover pools delete --force ${quoteArgv([name])}`,
  ]);
}
