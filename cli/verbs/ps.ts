// `drover ps`: lists runs, newest first.
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import type { RunSummary } from "../../client/types.ts";
import { connect } from "../context.ts";
import { listText } from "../list.ts";
import { pair, STATE_WORDS, wholeNumber, words } from "../options.ts";
import { readRuns, type Selection } from "../run/list-runs.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, elapsed } from "../terminal/text.ts";

interface PsFlags {
  all?: boolean;
  state?: (typeof STATE_WORDS)[number][];
  label?: Record<string, string>;
  array?: string;
  pool?: string;
  limit: number;
  json?: boolean;
}

/** How many of the latest runs are listed besides the live runs. */
const RECENT_RUNS = 10;

const HELP = `
Without --all or --state: every run that has not ended, and the latest ${RECENT_RUNS}.

Examples:
  drover ps
  drover ps --state failed --state unknown --label team=web
  drover ps --all --limit 1000 --json | jq -r '.[].id'`;

/** `drover ps`: lists runs, newest first. */
export function addPs(program: Command, io: Io): void {
  program
    .command("ps")
    .summary("list runs")
    .description("Lists runs, newest first.")
    .option("-a, --all", "runs in every state")
    .option(
      "--state <state>",
      `only runs in this state (repeatable): ${STATE_WORDS.join(", ")}`,
      words(STATE_WORDS),
    )
    .option("-l, --label <name=value>", "only runs with this label (repeatable: with all labels)", pair)
    .option("--array <id>", "only runs of this array, as drover run --array or --matrix made it")
    .option("--pool <name>", "only runs of this pool")
    .option("--limit <number>", "at most this many (default: 100)", wholeNumber(1, 1_000_000), 100)
    .option("--json", "print the runs as a JSON list")
    .addHelpText("after", HELP)
    .action(async (flags: PsFlags) => {
      const { client } = connect(io);
      const { runs, troubles } = await select(client, flags);
      const shown = runs.slice(0, flags.limit);
      const { state, label, array, pool } = flags;
      const isFiltered = [state, label, array, pool].some((one) => one !== undefined);
      const empty = isFiltered ? "No runs match." : "No runs.";
      await io.stdout.write(flags.json ? `${asJson(shown)}\n` : view(shown, io, client.now(), empty));
      for (const trouble of troubles) await io.say(trouble);
      if (runs.length > shown.length)
        await io.say(`There are more runs; to see more than ${flags.limit}, use --limit.`);
    });
}

/** The requested runs. If there are more runs than the limit, the selection exceeds the limit. */
async function select(client: Client, flags: PsFlags): Promise<Selection> {
  const wanted = flags.limit + 1;
  const filter = { labels: flags.label, array: flags.array, pool: flags.pool };
  if (flags.all || flags.state !== undefined) {
    return await readRuns(client, { ...filter, states: flags.state ?? ["all"] }, wanted);
  }
  const [live, recent] = await Promise.all([
    readRuns(client, { ...filter, states: ["pending", "running"] }, wanted),
    readRuns(client, { ...filter, states: ["all"] }, RECENT_RUNS),
  ]);
  return {
    runs: newestFirst([...live.runs, ...recent.runs]),
    troubles: [...new Set([...live.troubles, ...recent.troubles])],
  };
}

/** The two lists were read at different moments: for a run in both, the later version wins. */
function newestFirst(runs: readonly RunSummary[]): RunSummary[] {
  const byId = new Map<string, RunSummary>();
  for (const run of runs) {
    const seen = byId.get(run.id);
    if (seen === undefined || run.version > seen.version) byId.set(run.id, run);
  }
  const sorted = [...byId.values()];
  return sorted.sort((a, b) => compare(b.submittedAt, a.submittedAt) || compare(b.id, a.id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function view(runs: readonly RunSummary[], io: Io, now: number, empty: string): string {
  const headings = ["RUN", "STATE", "EXIT", "AGE", "TOOK", "WORKER", "COMMAND"];
  const rows = runs.map((run) => [
    run.id,
    run.state,
    run.exitCode === null ? "" : String(run.exitCode),
    elapsed(run.submittedAt, now),
    elapsed(run.startedAt, run.finishedAt ?? now),
    run.worker ?? "",
    run.command,
  ]);
  return listText(io, headings, rows, empty);
}
