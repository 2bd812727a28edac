// `drover deploy`, step by step: looks, plans, asks, does, and says what comes next (deploy.md#steps).
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Config, contextIn, isContextName, LOCAL, withContext, withCurrent } from "../config/config.ts";
import { changeConfig, readConfig } from "../config/config-file.ts";
import { clientFor, unknownContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { isAtTerminal, personAtTerminal } from "../terminal/ask.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";
import type { Template } from "./configuration.ts";
import type { Candidate, Facts } from "./facts.ts";
import {
  type Account,
  accountsOf,
  bucketsOf,
  candidatesOf,
  chosenAccount,
  found,
  namedDrover,
  secretsOf,
} from "./look.ts";
import { ADMIN_TOKEN, type Plan, planLines, planOf, type Wanted } from "./plan.ts";
import { readRecord, recordPath } from "./record.ts";
import { removeLeftSecrets } from "./secrets-file.ts";
import { withCleanup } from "./signals.ts";
import { deployed, type Work, writeConfiguration } from "./steps.ts";
import { openWrangler, type Wrangler } from "./wrangler.ts";

declare const DROVER_VERSION: string;

/** What the flags say. */
export interface DeployFlags {
  name: string;
  account?: string;
  domain?: string;
  bucket?: string | false;
  rotateToken?: boolean;
  tokenFile?: string;
  backup: boolean;
  force?: boolean;
  dryRun?: boolean;
  yes?: boolean;
  waitMs: number;
}

const NOTHING = "Nothing has been deployed.";

/** Deploys, or upgrades, a control plane. Throws a `CliError` that says what to do. */
export async function deploy(io: Io, flags: DeployFlags): Promise<void> {
  refuseLostToken(flags);
  refuseUnknownContext(io, readConfig(io));
  const wrangler = openWrangler(io);
  await withCleanup(
    () => wrangler.close(),
    () => deployAs(io, wrangler, flags),
  );
}

async function deployAs(io: Io, wrangler: Wrangler, flags: DeployFlags): Promise<void> {
  const account = await chosenAccount(await loggedIn(io, wrangler, flags), flags.account, asking(flags));
  wrangler.useAccount(account.id);
  await deployTo(io, wrangler, account, flags);
}

/** A pipeline forgets its files, and with them the only copy of a new token. */
function refuseLostToken({ rotateToken, tokenFile, dryRun }: DeployFlags): void {
  if (rotateToken !== true || dryRun === true || tokenFile !== undefined || isAtTerminal()) return;
  throw new CliError("The new token would be on this machine alone, and nobody is at a terminal here.", [
    `Say where it is to be written as well: --token-file <path>. ${NOTHING}`,
  ]);
}

function refuseUnknownContext({ context }: Io, config: Config): void {
  if (context !== undefined && contextIn(config, context) === undefined)
    throw unknownContext(context, config);
}

async function deployTo(io: Io, wrangler: Wrangler, account: Account, flags: DeployFlags): Promise<void> {
  const wanted = wantedOf(flags);
  const template: Template = JSON.parse(readFileSync(inPackage("dist/deploy.json"), "utf8"));
  const shared = { io, wrangler, template, resolve: inPackage, wanted };
  const { waitMs, tokenFile } = flags;
  const work: Work = { ...shared, account: account.id, waitMs, tokenFile };
  removeLeftSecrets(recordPath(io, account.id, wanted.name));
  const facts = await factsFor(work);
  const plan = planOf(facts, wanted);
  if (plan.kind === "refusal") throw new CliError(plan.why, [...plan.hints, NOTHING]);
  for (const line of planLines(plan, wanted, account.name)) await io.stdout.write(`${printable(line)}\n`);
  if (flags.dryRun === true) return void (await io.say("nothing was done: this was --dry-run"));
  await confirmed(flags);
  const at = await deployed(work, plan, facts);
  const context = storeContext(io, at);
  await sayWhatIs(io, at, plan, wanted, { context, record: recordPath(io, account.id, wanted.name) });
}

/** The path of a file of this package: the built command is in its `dist`. */
function inPackage(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

function wantedOf(flags: DeployFlags): Wanted {
  const { name, domain, bucket, rotateToken = false, force = false, backup } = flags;
  return { name, version: DROVER_VERSION, bucket, domain, rotateToken, force, backup };
}

/** The accounts of the login. At a terminal, whoever is not logged in is asked to. */
async function loggedIn(io: Io, wrangler: Wrangler, flags: DeployFlags): Promise<Account[]> {
  const accounts = await accountsOf(wrangler);
  if (accounts !== undefined) return accounts;
  const out = new CliError("Nobody is logged in to Cloudflare.", [
    "Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN to an API token of your account.",
    NOTHING,
  ]);
  if (!isAtTerminal() || flags.yes === true) throw out;
  await io.say("you are not logged in to Cloudflare; wrangler opens your browser for that");
  if ((await wrangler.attended(["login"])) !== 0) throw out;
  const now = await accountsOf(wrangler);
  if (now === undefined) throw out;
  return now;
}

/** Asks for one of several, where somebody can be asked. */
function asking({ yes }: DeployFlags) {
  if (!isAtTerminal() || yes === true) return undefined;
  return async (question: string, choices: readonly string[]) => {
    const person = personAtTerminal(NOTHING);
    try {
      const text = `${question}?\n${choices.map((one) => `  ${printable(one)}\n`).join("")}Its id or name`;
      return await person.ask(text);
    } finally {
      person.leave();
    }
  };
}

async function confirmed({ yes }: DeployFlags): Promise<void> {
  if (yes === true) return;
  if (!isAtTerminal()) throw new CliError("Nobody can be asked here.", [`Confirm with --yes. ${NOTHING}`]);
  const person = personAtTerminal(NOTHING);
  try {
    const answer = await person.choose("Do all of this?", "yn");
    if (answer !== "y") throw new CliError(NOTHING);
  } finally {
    person.leave();
  }
}

/** Looks at the account, and at the control plane. */
async function factsFor(work: Work): Promise<Facts> {
  const { io, wrangler, account, wanted } = work;
  const config = writeConfiguration(work, { bucket: null, domains: [] });
  const secrets = await secretsOf(wrangler, config);
  const buckets = wanted.bucket === false ? [] : await bucketsOf(wrangler, config);
  const record = readRecord(recordPath(io, account, wanted.name));
  const names = { name: wanted.name, domain: wanted.domain, context: io.context, env: io.env };
  const candidates = secrets === null ? [] : candidatesOf(record, readConfig(io), names);
  const hasToken = record.secrets[ADMIN_TOKEN] !== undefined;
  const known = { secrets, buckets, hasToken, recorded: record, named: namedDrover(names) };
  return { ...known, ...(await found(candidates)) };
}

/** Stores where the control plane is, once it has answered to the token. Returns the name of the context. */
function storeContext(io: Io, { url, token }: Candidate): string {
  const before = readConfig(io);
  const isOf = (name: string) => contextIn(before, name)?.url === url;
  const host = new URL(url).hostname;
  const known = Object.keys(before.contexts).find(isOf);
  const name = known ?? (isContextName(host) && host !== LOCAL ? host : "drover");
  changeConfig(io, (config) => {
    const stored = withContext(config, name, { ...contextIn(config, name), url, token });
    // The first one is in use from now on. Later deployments leave that as it is.
    return known === undefined ? withCurrent(stored, name) : stored;
  });
  return name;
}

async function sayWhatIs(
  io: Io,
  at: Candidate,
  { from, newSecrets, before }: Plan,
  { version }: Wanted,
  { context, record }: { context: string; record: string },
): Promise<void> {
  const what = from === undefined ? "Drover" : from === version ? "Drover, again" : `Drover, ${from} before,`;
  await io.say(`${what} ${version} answers at ${at.url}; the context is ${context}`);
  if (newSecrets.length > 0) {
    await io.say(`the secrets are in ${record}: keep a copy, since nobody can ask Cloudflare for them`);
  }
  if (before !== undefined && before !== at.url) {
    await io.say(`machines that run go on with the address that they were given: ${before}`);
  }
  const { items } = await clientFor(at).pools.list();
  if (items.length > 0) return;
  await io.say(
    "there is no pool yet. Next, for machines of a cloud: drover pools create <name>; for your own machines:",
  );
  await io.say("drover apply -f pool.json, then drover enroll --pool <pool>. docs/machines.md has both");
}
