// `drover backup`: writes what matters of a Drover into one file.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { writeBackup } from "../backup/archive.ts";
import { headFor, linesOf, timeInName } from "../backup/collect.ts";
import { type Counts, KINDS, type Line } from "../backup/format.ts";
import { clientFor, findContext, withinOf } from "../context.ts";
import { CliError } from "../errors.ts";
import { path } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";

const HELP = `
The file has projects, tokens and trust rules as they are stored (digests, from which nobody
gets a token), pools, jobs, webhooks, the names of secrets, ended runs and the audit log: JSON,
a line each, compressed by gzip. A job is there as it is stored, with the values of its
variables, its standard input and the headers of its checks. The file has no value of a
secret, no output of runs, and no snapshot: those are in the bucket. Only you can read it;
keep it as you keep tokens.

It needs the secret of the deployment (DROVER_ADMIN_TOKEN).

Examples:
  drover backup
  drover backup /backups/drover.jsonl.gz
  drover backup today.jsonl.gz --force
  zcat today.jsonl.gz | jq -c 'select(.kind == "pool")'
  drover restore today.jsonl.gz --dry-run`;

interface Flags {
  history: boolean;
  force?: boolean;
}

/** `drover backup`: writes a backup (backup.md#archive). */
export function addBackup(program: Command, io: Io): void {
  program
    .command("backup")
    .summary("write pools, jobs, tokens, trust rules and history into a file")
    .description(
      "Writes what matters of this Drover into one file, from which `drover restore` brings it back.",
    )
    .argument("[file]", "the file (default: drover-<host>-<time>.jsonl.gz here)", path)
    .option("--no-history", "leave out ended runs and the audit log")
    .option("--force", "replace a file that is there")
    .addHelpText("after", HELP)
    .action(async (file: string | undefined, { history, force = false }: Flags) => {
      const { path: written, counts } = await backUp(io, { file, history, force });
      await io.say(`${written} has: ${countsText(counts)}`);
    });
}

/** Writes a backup of the chosen Drover. Returns where it is, and what it has. */
async function backUp(
  io: Io,
  { file, history, force }: { file: string | undefined; history: boolean; force: boolean },
): Promise<{ path: string; counts: Counts }> {
  const context = findContext(io);
  // A backup has all projects, whichever one the caller acts in otherwise.
  const client = clientFor(context);
  if (file !== undefined) refuseExisting(resolve(io.cwd, file), force);
  const head = await headFor(client, context.url);
  const host = new URL(context.url).host.replaceAll(/[^A-Za-z0-9.-]/g, "-");
  const target = resolve(io.cwd, file ?? `drover-${host}-${timeInName(head)}.jsonl.gz`);
  refuseExisting(target, force);
  return {
    path: target,
    counts: await writeBackup(target, head, linesOf(client, withinOf(context), history)),
  };
}

/** An earlier backup may be the only one from before a mistake. */
function refuseExisting(path: string, force: boolean): void {
  if (force || !existsSync(path)) return;
  throw new CliError(`${printable(path)} is there already.`, [
    "No backup was made. Name another file, or replace this one: --force",
  ]);
}

/** What a backup has, in words. */
function countsText(counts: Counts): string {
  return KINDS.map((kind) => `${NAMES[kind]} ${counts[kind]}`).join(", ");
}

const NAMES: Record<Line["kind"], string> = {
  project: "projects",
  token: "tokens",
  trust_rule: "trust rules",
  secret: "names of secrets",
  pool: "pools",
  job: "jobs",
  webhook: "webhooks",
  run: "ended runs",
  audit: "audit entries",
};
