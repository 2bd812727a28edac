// `drover audit`: shows who did what.
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { WAIT_STEP_MS } from "../../client/runs/until-done.ts";
import type { AuditEntry, AuditQuery } from "../../client/types.ts";
import { actorName } from "../../src/shared/access/actor.ts";
import { parseDuration } from "../../src/shared/duration.ts";
import { detailsOf } from "../audit/entry-text.ts";
import { connect } from "../context.ts";
import { listText } from "../list.ts";
import { positiveDuration, wholeNumber } from "../options.ts";
import { LAST, lastRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, printable } from "../terminal/text.ts";
import { addAuditVerify } from "./audit-verify.ts";

const HELP = `
Examples:
  drover audit
  drover audit --since 1h --actor token:ci
  drover audit --run build-17
  drover audit --action worker.kill --json | jq .reason
  drover audit --follow`;

/** How many entries are shown without \`--limit\`. */
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 10_000;
const PAGE = 1_000;

interface Flags {
  since?: string;
  actor?: string;
  action?: string;
  run?: string;
  target?: string;
  pool?: string;
  limit: number;
  follow?: boolean;
  json?: boolean;
}

/** `drover audit`: shows who did what, newest first, and with `--follow` what comes. */
export function addAudit(program: Command, io: Io, exitWith: (code: number) => void): void {
  const audit = program
    .command("audit")
    .summary("show who did what, or verify exported files")
    .description("Shows who submitted, aborted, held, killed and changed what, newest first.")
    .option("--since <duration>", "only the last 1h, 2d and so on", positiveDuration)
    .option("--actor <name>", "only what this one did: admin, token:ci")
    .option("--action <action>", "only this: run.abort, or run for all that is done to runs")
    .option("--run <id>", "only what concerns this run; - is the last run of yours")
    .option("--target <id>", "only what was done to this run, worker, pool or token")
    .option("--pool <name>", "only what concerns this pool")
    .option("--limit <n>", `how many entries (default: ${DEFAULT_LIMIT})`, wholeNumber(1, MAX_LIMIT))
    .option("-f, --follow", "then show what comes, until Ctrl-C")
    .option("--json", "print a JSON object on each line")
    .addHelpText("after", HELP)
    .action(async ({ limit = DEFAULT_LIMIT, ...given }: Flags) => {
      const { client } = connect(io);
      const run = given.run === LAST ? await lastRun({ io, client }) : given.run;
      const flags = { ...given, run };
      const { items, follow } = await latest(client, flags, limit);
      if (flags.follow !== true && flags.json !== true) {
        const rows = items.map(cellsOf);
        return void (await io.stdout.write(listText(io, HEADINGS, rows, "Nobody did anything.")));
      }
      const show = (some: readonly AuditEntry[]) =>
        io.stdout.write(some.map((one) => `${flags.json === true ? asJson(one, 0) : line(one)}\n`).join(""));
      await show(flags.follow === true ? items.toReversed() : items);
      if (flags.follow === true) await followFrom(client, queryOf(flags), follow, show);
    });
  addAuditVerify(audit, io, exitWith);
}

const HEADINGS = ["WHEN", "WHO", "WHAT", "TARGET", "POOL", "RESULT", "WHY"];

/** The newest entries, from as many pages as it takes. */
async function latest(client: Client, flags: Omit<Flags, "limit">, limit: number) {
  const ms = flags.since === undefined ? undefined : parseDuration(flags.since);
  const since = ms === undefined ? undefined : new Date(client.now() - ms).toISOString();
  const query = { ...queryOf(flags), since };
  const first = await client.audit.list({ ...query, limit: Math.min(limit, PAGE) });
  const { items, follow } = first;
  let { next } = first;
  while (next !== null && items.length < limit) {
    const left = Math.min(limit - items.length, PAGE);
    const page = await client.audit.list({ ...query, limit: left, cursor: next });
    items.push(...page.items);
    next = page.next;
  }
  return { items, follow };
}

async function followFrom(
  client: Client,
  query: AuditQuery,
  from: string,
  show: (items: readonly AuditEntry[]) => Promise<unknown>,
): Promise<never> {
  for (let after = from; ; ) {
    const { items, follow } = await client.audit.list({ ...query, after }, { waitMs: WAIT_STEP_MS });
    if (items.length > 0) await show(items);
    after = follow;
  }
}

function queryOf({ actor, action, run, target, pool }: Omit<Flags, "limit">): AuditQuery {
  // The server checks the action: its list may be longer than that of this command.
  const known = action as AuditQuery["action"];
  return { actor, action: known, target, pool, within: run === undefined ? undefined : `run:${run}` };
}

function cellsOf(entry: AuditEntry): string[] {
  const { at, action, target, pool, result } = entry;
  const what = `${target.kind} ${target.name ?? target.id}`;
  return [at, actorName(entry.actor), action, what, pool ?? "", result, detailsOf(entry)];
}

function line(entry: AuditEntry): string {
  return printable(
    cellsOf(entry)
      .filter((cell) => cell !== "")
      .join("  "),
  );
}
