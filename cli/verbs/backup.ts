// `drover backup`: writes what matters of a Drover into one file.
import { resolve } from "node:path";
import type { Command } from "commander";
import { writeBackup } from "../backup/archive.ts";
import { headFor, linesOf } from "../backup/collect.ts";
import { type Counts, KINDS, type Line } from "../backup/format.ts";
import { clientFor, findContext } from "../context.ts";
import { path } from "../options.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
The file has projects, tokens and trust rules as they are stored (digests, from which nobody
gets a token), pools, webhooks, the names of secrets, ended runs and the audit log: JSON, a
line each, compressed by gzip. It has no value of a secret, no output of runs, and no
snapshot: those are in the bucket. Only you can read the file; keep it as you keep tokens.

It needs the secret of the deployment (DROVER_ADMIN_TOKEN).

Examples:
  drover backup
  drover backup /backups/drover.jsonl.gz
  zcat drover-2026-11-27.jsonl.gz | jq -c 'select(.kind == "pool")'
  drover restore drover-2026-11-27.jsonl.gz --dry-run`;

/** `drover backup`: writes a backup (backup.md#archive). */
export function addBackup(program: Command, io: Io): void {
  program
    .command("backup")
    .summary("write pools, tokens, trust rules and history into a file")
    .description(
      "Writes what matters of this Drover into one file, from which `drover restore` brings it back.",
    )
    .argument("[file]", "the file (default: drover-<date>.jsonl.gz here)", path)
    .option("--no-history", "leave out ended runs and the audit log")
    .addHelpText("after", HELP)
    .action(async (file: string | undefined, { history }: { history: boolean }) => {
      const { path: written, counts } = await backUp(io, { file, history });
      await io.say(`${written} has: ${countsText(counts)}`);
    });
}

/** Writes a backup of the chosen Drover. Returns where it is, and what it has. */
async function backUp(
  io: Io,
  { file, history }: { file: string | undefined; history: boolean },
): Promise<{ path: string; counts: Counts }> {
  const context = findContext(io);
  // A backup has all projects, whichever one the caller acts in otherwise.
  const client = clientFor(context);
  const head = await headFor(client, context.url);
  const target = resolve(io.cwd, file ?? `drover-${head.madeAt.slice(0, "YYYY-MM-DD".length)}.jsonl.gz`);
  return { path: target, counts: await writeBackup(target, head, linesOf(client, history)) };
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
  webhook: "webhooks",
  run: "ended runs",
  audit: "audit entries",
};
