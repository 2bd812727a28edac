import type { Command } from "commander";
import { connect } from "../context.ts";
import type { Io } from "../io.ts";

const HELP = `
Examples:
  drover pools delete build
  drover pools delete --drain build`;

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
    .addHelpText("after", HELP)
    .action(async (name: string, { drain }: { drain?: boolean }) => {
      const { deleted } = await connect(io).client.pools.delete(name, { drain: drain === true });
      const left = "takes no more runs, and is deleted when those that it has have ended, and its machines";
      await io.stdout.write(`${name} ${deleted ? "is deleted" : left}\n`);
    });
}
