// `drover jobs history`: shows the runs of a job and the ticks that have none.
import type { Command } from "commander";
import { connect } from "../context.ts";
import { historyOf, historyText } from "../jobs/history.ts";
import { wholeNumber } from "../options.ts";
import { type Moment, moment } from "../output/moment.ts";
import type { Io } from "../terminal/io.ts";
import { asJson } from "../terminal/text.ts";

const NOTHING = "Nothing yet. See when it runs: drover jobs next <job>";

const HELP = `
A tick without a run is there with its reason, such as \`paused\` or \`overlap\`. Runs whose
retention is over are gone. A job remembers the latest of its skipped ticks.

Examples:
  drover jobs history nightly
  drover jobs history nightly --since 2d --json | jq '.[] | select(.what == "skip")'`;

const DEFAULT_LIMIT = 100;

/** `drover jobs history`: the runs and the skipped ticks of a job, newest first. */
export function addJobsHistory(jobs: Command, io: Io): void {
  jobs
    .command("history")
    .summary("show the runs of a job, and the ticks without one")
    .description("Shows the runs of a job and the ticks that were skipped, newest first, with the reasons.")
    .argument("<job>", "its name")
    .option("--since <time>", "nothing that happened before this time", moment)
    .option("--limit <number>", `at most this many (default: ${DEFAULT_LIMIT})`, wholeNumber(1, 1_000_000))
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async (name: string, flags: { since?: Moment; limit?: number; json?: boolean }) => {
      const { client } = connect(io);
      const { limit = DEFAULT_LIMIT, json } = flags;
      const job = await client.jobs.get(name);
      const now = client.now();
      const { items, isCut, troubles } = await historyOf(client, job, { since: flags.since?.at(now), limit });
      const empty = flags.since === undefined ? NOTHING : "Nothing since then.";
      await io.stdout.write(json === true ? `${asJson(items)}\n` : historyText(io, items, now, empty));
      for (const trouble of troubles) await io.say(trouble);
      if (isCut) await io.say(`There is more; to see more than ${limit}, use --limit.`);
    });
}
