// `drover up`: starts Drover on this machine.
import { type Command, Option } from "commander";
import { FAKE_CLOUDS } from "../../local/fake-clouds.ts";
import type { UpFlags } from "../../local/up-command.ts";
import { choiceOf } from "../config/choice.ts";
import { LOCAL } from "../config/config.ts";
import { readConfig } from "../config/config-file.ts";
import { path, size, wholeNumber } from "../options.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
Drover keeps its state in .drover in this directory, or in the directory that --state or DROVER_STATE
names. Commands that run in or below the directory that has .drover, or in or below the state directory,
find this Drover. Elsewhere, point to it with DROVER_STATE=<directory> or drover --state <directory>
<command>.

Ctrl-C aborts the runs on its machines and ends the machines; queued runs wait for the next
drover up. A second Ctrl-C waits for nothing, and runs end as unknown.

By default it has one machine, as large as this computer, or as the container around it.
--machines 2 divides that into two. With --vcpus or --memory the machines may have more
than there is: they share it.

Its pool is called \`default\`. Once \`drover apply\` has changed that pool, the size flags have no effect.

Examples:
  drover up
  drover up --fresh
  drover up --machines 2 --vcpus 4 --memory 8GiB
  drover up --cloud ec2-fake      # in a checkout
  drover up --port 8787 --state /var/tmp/drover
  drover --state /var/tmp/drover run -- uname -a`;

/** `drover up`: runs Drover on this machine until Ctrl-C. */
export function addUp(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("up")
    .summary("start Drover on this machine")
    .description("Starts Drover on this machine; its machines are local processes. Ctrl-C stops everything.")
    .option(
      "--port <number>",
      "where to listen (default: as before, or one that is free)",
      wholeNumber(1, 65_535),
    )
    .option("--state <directory>", "where to keep everything (default: .drover in this directory)", path)
    .option("--fresh", "first forget all runs and everything else that is kept")
    .option("--machines <number>", "how many machines there may be (default: 1)", wholeNumber(1, 64))
    .option(
      "--vcpus <number>",
      "the vCPUs of each machine (default: an equal share of this computer's)",
      wholeNumber(1, 1_024),
    )
    .option(
      "--memory <size>",
      "the memory of each machine (default: an equal share of nine tenths of this computer's)",
      size,
    )
    .addOption(
      new Option(
        "--cloud <fake>",
        "add a pool of this name, on the fake of a cloud, to try that kind of pool",
      ).choices(FAKE_CLOUDS),
    )
    .option(
      "--allow-local-webhooks",
      "let webhooks reach this machine and its private network (default: public addresses only)",
    )
    .option(
      "--allow-local-issuers",
      "let trust rules name issuers of tokens on this machine and its private network (default: public only)",
    )
    .addHelpText("after", HELP)
    .action(async ({ state, ...flags }: UpFlags & { state?: string }) => {
      // Loaded on demand, since this module loads a whole runtime.
      const { upCommand } = await import("../../local/up-command.ts");
      const stateDir = state ?? io.state ?? (io.env.DROVER_STATE || undefined);
      const context = contextInUse(io);
      if (context !== undefined) {
        await io.say(`Commands use the context ${context}. To use this Drover: drover context use ${LOCAL}`);
      }
      exitWith(await upCommand({ ...flags, stateDir }));
    });
}

/** The context that commands use instead of a Drover that is started here (cli.md#which). */
function contextInUse(io: Io): string | undefined {
  try {
    const choice = choiceOf({ ...io, state: undefined }, () => readConfig(io).current);
    return choice.kind === "context" ? choice.name : undefined;
  } catch {
    // The next command says what is wrong.
    return undefined;
  }
}
