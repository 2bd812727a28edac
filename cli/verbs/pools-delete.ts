import type { Command } from "commander";
import { ApiError } from "../../client/errors.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { warnOf } from "../left-behind.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";

const HELP = `
Examples:
  drover pools delete build
  drover pools delete --drain build
  drover pools delete --force build`;

const DRAINS = "takes no more runs, and is deleted when those that it has have ended, and its machines";
const FORCED = "takes no more runs: those that it has and its machines are killed, and then it is deleted";

/** `drover pools delete`: a pool that is empty, or any as soon as it is. */
export function addPoolsDelete(pools: Command, io: Io): void {
  pools
    .command("delete")
    .summary("delete a pool")
    .description(
      "Deletes a pool that has no machines, and no runs that have not ended. Ended runs stay for their time.",
    )
    .argument("<pool>", "the name of the pool")
    .option("--drain", "take no more runs, let those that are there end, then their machines, then delete it")
    .option("--force", "kill its runs and machines now, also if its provider does not answer")
    .addHelpText("after", HELP)
    .action(async (name: string, flags: { drain?: boolean; force?: boolean }) => {
      const { client } = connect(io);
      const { deleted, leftBehind = [] } = await client.pools.delete(name, flags).catch((error) => {
        throw error instanceof ApiError && error.code === "pool_in_use" ? inUse(name) : error;
      });
      await warnOf(io, leftBehind);
      const goesOn = flags.force === true ? FORCED : DRAINS;
      await io.stdout.write(`${name} ${deleted ? "is deleted" : goesOn}\n`);
    });
}

function inUse(name: string): CliError {
  return new CliError(`Pool ${printable(name)} has machines, or runs that have not ended.`, [
    `Let them end, and delete it then by itself: drover pools delete --drain ${quoteArgv([name])}`,
    `Or kill them now: drover pools delete --force ${quoteArgv([name])}`,
  ]);
}
