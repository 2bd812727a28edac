// `drover deploy`: makes or upgrades a control plane at Cloudflare.

import { resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { durationMs } from "../../src/shared/duration.ts";
import type { DeployFlags } from "../deploy/command.ts";
import { path, positiveDuration } from "../options.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
Logs in by wrangler, makes what is missing (bucket, secrets), uploads this version, tells the
Worker its address, waits until it answers, and stores the context. It needs Node 22, and
fetches wrangler by npm if it is not installed. No file of a checkout is changed.

Repeat it at any time: it finishes what was interrupted, and upgrades. An upgrade is refused
for an older version, and if machines would not understand the new one; before it, a backup
is written. Secrets that the account has are never replaced.

In CI: CLOUDFLARE_API_TOKEN, DROVER_URL and DROVER_TOKEN, and drover deploy --yes. Where they
name a Drover, no other one is made; --rotate-token needs --token-file there.

Examples:
  drover deploy --dry-run
  drover deploy
  drover deploy --domain drover.example.com
  drover deploy --name staging --yes`;

/** What a Worker can be called, so that its address can be a host name. */
const WORKER_NAME = /^[a-z0-9](?:[a-z0-9-]{0,52}[a-z0-9])?$/;
const DOMAIN = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/;

/** The flags as they are typed: a duration is text. */
interface Flags extends Omit<DeployFlags, "waitMs"> {
  wait: string;
}

/** `drover deploy`: deploys a control plane (deploy.md#steps). */
export function addDeploy(program: Command, io: Io): void {
  program
    .command("deploy")
    .summary("make or upgrade a control plane at Cloudflare")
    .description("From a Cloudflare account to a control plane that answers, in one command.")
    .option("--name <worker>", "the name of the Worker (default: drover)", workerName, "drover")
    .option("--account <account>", "the account, by id or name, if the login has several")
    .option("--domain <host>", "a custom domain, in a zone of the account", domain)
    .option("--bucket <bucket>", "the bucket (default: <worker>-logs)")
    .option("--no-bucket", "go without a bucket: no snapshots, and output is stored in rows")
    .option("--rotate-token", "give the control plane another DROVER_ADMIN_TOKEN")
    .option("--token-file <path>", "write a new DROVER_ADMIN_TOKEN there as well", path)
    .option("--no-backup", "write no backup before an upgrade")
    .option("--force", "also if it does not answer, or machines do not understand this version")
    .option("--wait <duration>", "how long it may take to answer (default: 3m)", positiveDuration, "3m")
    .option("--dry-run", "only show what would be done")
    .option("--yes", "ask nothing")
    .addHelpText("after", HELP)
    .action(async ({ wait, tokenFile, ...flags }: Flags) => {
      // Few people deploy, and other verbs are not to wait for what it loads.
      const { deploy } = await import("../deploy/command.ts");
      const file = tokenFile === undefined ? {} : { tokenFile: resolve(io.cwd, tokenFile) };
      await deploy(io, { ...flags, ...file, waitMs: durationMs(wait) });
    });
}

function workerName(text: string): string {
  if (WORKER_NAME.test(text)) return text;
  throw new InvalidArgumentError(
    "It has 1 to 54 lower-case letters, digits and dashes, and no dash at either end.",
  );
}

function domain(text: string): string {
  if (DOMAIN.test(text)) return text;
  throw new InvalidArgumentError("It must be a host name in lower case, such as drover.example.com.");
}
