// `drover history`: what happened in a pool, in order of time?
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { AuditEntry, HistoryItem } from "../../client/types.ts";
import { actorName } from "../../src/shared/access/actor.ts";
import { detailsOf } from "../audit/entry-text.ts";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { listText } from "../list.ts";
import { DAY_MS, type Moment, moment } from "../output/moment.ts";
import type { Io } from "../terminal/io.ts";
import { asJson } from "../terminal/text.ts";

const HELP = `
Times are instants such as 2026-11-21T03:00:00Z, durations back from now such as 2h, or
times of day such as 03:00: the latest before now. All are in UTC, as all that Drover
shows.

A pool keeps of each run and machine the latest of each kind: of a run that was placed
twice, the last placement. It forgets runs when their retention is over. What people did,
changes of the configuration among it, is shown if your token may read the audit log.

Examples:
  drover history
  drover history build --since 03:00 --until 03:20
  drover history build --since 6h --json | jq -r 'select(.what == "machine_failed").text'`;

/** How far back a history goes that names no other time. */
const DEFAULT_SPAN = "1h";
/** The most entries of the audit log that one request asks for. */
const AUDIT_PAGE = 1_000;

/** A line of a history. `shown`: what the API says, for `--json`. */
interface Line {
  at: string;
  what: string;
  subject: string;
  text: string;
  shown: object;
}

/** `drover history`: shows what happened in a pool, oldest first. */
export function addHistory(program: Command, io: Io): void {
  program
    .command("history")
    .summary("show what happened in a pool")
    .description("Shows what happened to the runs and machines of a pool, and what people did, oldest first.")
    .argument("[pool]", "which pool (default: the one called default)", "default")
    .option("--since <time>", `from this time on (default: ${DEFAULT_SPAN} before now)`, moment)
    .option("--until <time>", "before this time (default: now)", moment)
    .option("--json", "print a JSON object on each line")
    .addHelpText("after", HELP)
    .action(async (pool: string, flags: { since?: Moment; until?: Moment; json?: boolean }) => {
      const { client } = connect(io);
      const span = spanOf(flags, client.now());
      const [happened, done] = await Promise.all([happenings(client, pool, span), deeds(client, pool, span)]);
      const lines = [...happened.lines, ...(done ?? [])].sort(
        (a, b) => Number(a.at > b.at) - Number(a.at < b.at),
      );
      if (flags.json) for (const { shown } of lines) await io.stdout.write(`${asJson(shown, 0)}\n`);
      else await io.stdout.write(view(io, lines));
      if (done === undefined) await io.say("What people did is left out: your token lacks audit:read.");
      if (span.since < happened.completeSince)
        await io.say(
          `Runs that ended before ${happened.completeSince} may be gone: their retention is over.`,
        );
      if (flags.until === undefined) await sayHoldOffs(io, client, pool);
    });
}

interface Span {
  since: string;
  until: string;
}

/** From `--since` to `--until`. A time of day ends the span where it next comes after the beginning. */
function spanOf(
  { since = moment(DEFAULT_SPAN), until = { at: (now) => now } }: { since?: Moment; until?: Moment },
  now: number,
): Span {
  const from = since.at(now);
  const latest = until.at(now);
  const to = until.isDaily && latest <= from ? latest + DAY_MS : latest;
  if (from < to) return { since: new Date(from).toISOString(), until: new Date(to).toISOString() };
  throw new CliError("--since is not before --until.", [
    `They mean ${new Date(from).toISOString()} and ${new Date(to).toISOString()}.`,
  ]);
}

/** What happened to runs and machines, from as many answers as it takes. */
async function happenings(client: Client, pool: string, { since, until }: Span) {
  const lines: Line[] = [];
  for (let from = since; ; ) {
    const { items, next, completeSince } = await client.pools.history(pool, { since: from, until });
    lines.push(...items.map(lineOf));
    if (next === null) return { lines, completeSince };
    from = next;
  }
}

function lineOf(item: HistoryItem): Line {
  const { at, what, run, worker, text } = item;
  const place = run !== null && worker !== null && what !== "run_ended" ? `on ${worker}` : "";
  return {
    at,
    what,
    subject: run ?? worker ?? "",
    text: [place, text].filter((one) => one !== "").join(": "),
    shown: item,
  };
}

/** What people did to the pool and in it; undefined: the token may not read it. */
async function deeds(client: Client, pool: string, { since, until }: Span): Promise<Line[] | undefined> {
  const entries: AuditEntry[] = [];
  try {
    let cursor: string | undefined;
    do {
      const page = await client.audit.list({ pool, since, until, limit: AUDIT_PAGE, cursor });
      entries.push(...page.items);
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  } catch (error) {
    if (error instanceof ApiError && error.code === "missing_scope") return undefined;
    throw error;
  }
  // The rows of runs tell of submissions already.
  return entries.filter(({ action }) => action !== "run.submit").map(lineOfDeed);
}

function lineOfDeed(entry: AuditEntry): Line {
  const { at, action, target, result } = entry;
  const facts = [`by ${actorName(entry.actor)}`, result === "denied" ? "denied" : "", detailsOf(entry)];
  const text = facts.filter((fact) => fact !== "").join(": ");
  return { at, what: action, subject: target.name ?? target.id, text, shown: entry };
}

function view(io: Io, lines: readonly Line[]): string {
  const rows = lines.map(({ at, what, subject, text }) => [at, what, subject, text]);
  return listText(io, ["WHEN", "WHAT", "NAME", "DETAILS"], rows, "Nothing happened that is still known.");
}

/** Hold-offs are known as long as they are in force: what caused those that are over stands in the list. */
async function sayHoldOffs(io: Io, client: Client, pool: string): Promise<void> {
  const { holdOffs } = await client.pools.get(pool);
  for (const { scope, until, reason } of holdOffs)
    await io.say(
      `No machine is made now (${scope}), until ${until ?? "the configuration changes"}: ${reason}`,
    );
}
