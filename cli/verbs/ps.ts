// `drover ps`: lists runs, newest first.
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import type { RunFilter } from "../../client/runs/run-lists.ts";
import { RUN_ORDERS, type RunOrder, sortRuns } from "../../client/runs/sort-runs.ts";
import type { RunSummary } from "../../client/types.ts";
import { durationMs } from "../../src/shared/duration.ts";
import { connect } from "../context.ts";
import { listText } from "../list.ts";
import { pair, positiveDuration, STATE_WORDS, wholeNumber, word, words } from "../options.ts";
import { stateCells } from "../run/failed.ts";
import { readRuns, type Selection } from "../run/list-runs.ts";
import { given } from "../run/spec.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, elapsed } from "../terminal/text.ts";

interface PsFlags {
  all?: boolean;
  state?: (typeof STATE_WORDS)[number][];
  label?: Record<string, string>;
  array?: string;
  pool?: string;
  failed?: boolean;
  parked?: boolean;
  since?: string;
  search?: string;
  sort?: RunOrder;
  limit: number;
  json?: boolean;
}

/** How many of the latest runs are listed besides the live runs. */
const RECENT_RUNS = 10;
/** How many of the latest runs `--sort` compares: the server lists runs in one order only. */
const SORTED_RUNS = 10_000;

const HELP = `
Without --all, --state, --failed, --parked, --since or --search: every run that has not
ended, and the latest ${RECENT_RUNS}.

A run has failed if its command ended with another code than 0, if it took too long, or
if Drover could not run it or has lost it.

--sort puts first: the newest (created), the latest end (ended), the longest (duration),
failures (state). It looks at the latest ${SORTED_RUNS} runs that the other flags choose.

Examples:
  drover ps
  drover ps --failed --since 2h
  drover ps --search 'make test' --label team=web
  drover ps --since 1d --sort duration --limit 20
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
    .option("--failed", "only runs that have failed")
    .option("--parked", "only runs that have failed for good, and wait for drover redrive")
    .option("--since <duration>", "only runs submitted in the last 2h, 1d and so on", positiveDuration)
    .option("--search <text>", "only runs with this text in their command, id or values of labels")
    .option("--sort <order>", `another order: ${RUN_ORDERS.join(", ")}`, word(RUN_ORDERS))
    .option("--limit <number>", "at most this many (default: 100)", wholeNumber(1, 1_000_000), 100)
    .option("--json", "print the runs as a JSON list")
    .addHelpText("after", HELP)
    .action(async (flags: PsFlags) => {
      const { client } = connect(io);
      const { runs, troubles } = await select(client, flags);
      const now = client.now();
      const { sort } = flags;
      const sorted = sort === undefined ? runs : sortRuns(runs.slice(0, SORTED_RUNS), sort, now);
      const shown = sorted.slice(0, flags.limit);
      const empty = Object.keys(filterOf(flags, now)).length > 0 ? "No runs match." : "No runs.";
      await io.stdout.write(flags.json ? `${asJson(shown)}\n` : view(shown, io, now, empty));
      for (const trouble of troubles) await io.say(trouble);
      if (sort !== undefined && runs.length > SORTED_RUNS)
        await io.say(`There are more runs: only the latest ${SORTED_RUNS} were sorted.`);
      else if (runs.length > shown.length)
        await io.say(`There are more runs; to see more than ${flags.limit}, use --limit.`);
    });
}

/** The filter that the flags name. */
function filterOf(
  { state, label, array, pool, failed, parked, since, search }: PsFlags,
  now: number,
): RunFilter {
  const from = since === undefined ? undefined : new Date(now - durationMs(since)).toISOString();
  return given({ states: state, labels: label, array, pool, failed, parked, since: from, search });
}

/** The requested runs. If there are more runs than are wanted, the selection exceeds their number. */
async function select(client: Client, flags: PsFlags): Promise<Selection> {
  const wanted = (flags.sort === undefined ? flags.limit : SORTED_RUNS) + 1;
  const filter = filterOf(flags, client.now());
  const { labels: _labels, array: _array, pool: _pool, ...looked } = filter;
  if (flags.all || Object.keys(looked).length > 0) {
    return await readRuns(client, { states: ["all"], ...filter }, wanted);
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
    ...stateCells(run),
    elapsed(run.submittedAt, now),
    elapsed(run.startedAt, run.finishedAt ?? now),
    run.worker ?? "",
    run.command,
  ]);
  return listText(io, headings, rows, empty);
}
