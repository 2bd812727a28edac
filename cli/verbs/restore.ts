// `drover restore`: brings back what a backup has and this Drover lacks.
import type { Command } from "commander";
import { readBackup } from "../backup/archive.ts";
import { type May, type Outcome, restored } from "../backup/restore.ts";
import { clientFor, findContext, withinOf } from "../context.ts";
import { EXIT } from "../errors.ts";
import { listText } from "../list.ts";
import { path } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, printable } from "../terminal/text.ts";

const HELP = `
What is missing is created. What is there stays, also if it differs; --overwrite changes
pools, jobs and webhooks that differ. Nothing is deleted. So a restore can be repeated, and goes on
where it could not.

Tokens and trust rules that have ended here do not come back. On a fresh Drover nothing has
ended, so every token of the file is valid: --dry-run shows what each may do.

A job that comes back makes up no ticks: its schedule counts from then on.

Values of secrets are in no backup: set them (drover secrets set), then restore again. An
endpoint of webhooks that is created gets another secret, which is shown on stderr, once. Runs
and the audit log do not come back: they are in the file, for you to read.

It needs the secret of the deployment (DROVER_ADMIN_TOKEN). The exit code is 1 if something
was skipped.

Examples:
  drover restore today.jsonl.gz --dry-run
  drover restore today.jsonl.gz`;

interface Flags {
  dryRun?: boolean;
  overwrite?: boolean;
  json?: boolean;
}

/** `drover restore`: restores a backup (backup.md#restore). */
export function addRestore(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("restore")
    .summary("bring back what a backup has and this Drover lacks")
    .description("Creates what a backup has and this Drover lacks. Shows what was created, kept and skipped.")
    .argument("<file>", "a file that `drover backup` has written", path)
    .option("--dry-run", "only show what would be done")
    .option("--overwrite", "change pools, jobs and webhooks that differ from the backup")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async (file: string, { dryRun = false, overwrite = false, json }: Flags) => {
      const contents = await readBackup(file);
      const { version, madeAt, url } = contents.head;
      const context = findContext(io);
      await io.say(
        `a backup of ${printable(url)}, made at ${printable(madeAt)} by version ${printable(version)}`,
      );
      const outcomes: Outcome[] = [];
      const within = withinOf(context);
      const work = { client: clientFor(context), within, dryRun, overwrite };
      for await (const { secret, ...outcome } of restored(contents, work)) {
        outcomes.push(outcome);
        // At once: nothing shows it again, and what follows may fail.
        if (secret !== undefined) await sayNewSecret(io, outcome, secret);
      }
      await io.stdout.write(json === true ? `${asJson(outcomes)}\n` : table(io, outcomes, dryRun));
      if (outcomes.some(({ result }) => result === "skipped")) exitWith(EXIT.no);
    });
}

function table(io: Io, outcomes: readonly Outcome[], dryRun: boolean): string {
  const headings = ["WHAT", "NAME", dryRun ? "WOULD BE" : "IS", dryRun ? "WHY, OR WHAT IT MAY" : "WHY"];
  const rows = outcomes.map(({ kind, name, result, reason, may }) => {
    const isNew = dryRun && may !== undefined && result === "created";
    return [kind, name, result, reason ?? (isNew ? mayText(may) : "")];
  });
  return listText(io, headings, rows, "The backup has nothing to restore.");
}

/** What a token may do, or whom a rule trusts with it: for whoever reads a backup before restoring it. */
function mayText({ scopes, limits, issuer, claims }: May): string {
  const text = (value: object) => (Object.keys(value).length === 0 ? "none" : JSON.stringify(value));
  const whom = claims === undefined ? "" : `${issuer}, claims ${text(claims)}: `;
  return `${whom}${scopes.join(" ") || "no scopes"}, limits ${text(limits)}`;
}

async function sayNewSecret(io: Io, { kind, name }: Outcome, secret: string): Promise<void> {
  await io.say(
    `the ${kind} ${printable(name)} signs with another secret now; give it to the receiver: ${secret}`,
  );
}
