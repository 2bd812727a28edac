// How are the steps of a deployment done, so that each can be repeated (deploy.md#steps)?
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeAtomically } from "../../disk/atomic.ts";
import { errorText } from "../../src/shared/words.ts";
import { writeBackup } from "../backup/archive.ts";
import { headFor, linesOf, timeInName } from "../backup/collect.ts";
import { clientFor, withinOf } from "../context.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";
import { configurationFor, type Target, type Template } from "./configuration.ts";
import { type Candidate, type Deployed, type Facts, type Running, URL_NAME } from "./facts.ts";
import { textOf, wranglerFailed } from "./failure.ts";
import { deployedAt } from "./look.ts";
import { ADMIN_TOKEN, type Plan, type Wanted } from "./plan.ts";
import {
  type DeploymentRecord,
  makeFolderFor,
  readRecord,
  recordFolder,
  recordPath,
  writeRecord,
} from "./record.ts";
import { withSecretsFile } from "./secrets-file.ts";
import type { Answer, Wrangler } from "./wrangler.ts";

/** How often a new version is asked whether it is there. */
const ASKED_EVERY_MS = 1_000;
const SECRET_BYTES = 32;
/** An address that wrangler names as one of the Worker's, perhaps without `https:`. */
const WORKERS_DEV = /^(?:https:\/\/)?[^/\s]+\.workers\.dev$/;

/** What the steps work with. */
export interface Work {
  io: Io;
  wrangler: Wrangler;
  template: Template;
  /** The absolute path of one in the template. */
  resolve: (path: string) => string;
  account: string;
  wanted: Wanted;
  /** Where a new token is written, too; undefined: only into the record. */
  tokenFile: string | undefined;
  /** How long a new version may take until it answers. */
  waitMs: number;
}

/** Writes the configuration of this deployment for wrangler; returns its path. */
export function writeConfiguration(
  work: Work,
  { bucket, domains }: Pick<Target, "bucket" | "domains">,
): string {
  const { wrangler, template, resolve, account, wanted } = work;
  const target = { name: wanted.name, account, bucket, domains };
  return wrangler.file("wrangler.json", configurationFor(template, target, resolve));
}

/** Does what a plan says, until the new version answers. Returns where it does, and to which token. */
export async function deployed(
  work: Work,
  plan: Plan,
  { running, silent }: Pick<Facts, "running" | "silent">,
): Promise<Candidate> {
  const { io, wrangler, tokenFile } = work;
  const config = writeConfiguration(work, plan);
  if (plan.makesBucket && plan.bucket !== null) await makeBucket(work, config, plan.bucket);
  const secrets = madeSecrets(work, plan.newSecrets, running?.token);
  const made = secrets[ADMIN_TOKEN];
  if (tokenFile !== undefined && made !== undefined) writeToken(tokenFile, made);
  if (plan.backsUp && running !== undefined) {
    await io.say(`the backup is ${await backedUp(work, running)}`);
  }
  if (plan.url !== undefined && plan.tellsUrl) secrets[URL_NAME] = plan.url;
  noteUpload(work, plan);
  const url = await uploaded(work, config, plan, secrets);
  noteUrl(work, url);
  if (plan.url === undefined && plan.tellsUrl) await tellUrl(wrangler, config, url);
  const token = made ?? running?.token ?? recordOf(work).secrets[ADMIN_TOKEN] ?? silent?.token;
  if (token === undefined) throw new Error("a deployment without a token was planned");
  await answers(work, { url, token }, plan);
  noteToken(work, token);
  return { url, token };
}

/** Stores what the Worker gets, so that an interrupted command knows it again (deploy.md#facts). */
function noteUpload(work: Work, { url, bucket, domains }: Plan): void {
  const next = url === undefined ? {} : { nextUrl: url };
  writeRecord(pathOf(work), { ...recordOf(work), ...next, bucket, domains });
}

/** Stores where the Worker is, so that an interrupted command finds it again. */
function noteUrl(work: Work, url: string): void {
  const { nextUrl: _, ...record } = recordOf(work);
  writeRecord(pathOf(work), { ...record, url });
}

/**
 * Stores that the Worker has its new token, also if an earlier command has sent it: another rotation must
 * make another token.
 */
function noteToken(work: Work, token: string): void {
  const { nextToken, ...record } = recordOf(work);
  if (token !== nextToken) return;
  writeRecord(pathOf(work), { ...record, secrets: { ...record.secrets, [ADMIN_TOKEN]: token } });
}

/** Writes the new token where the person wants it, before anything is sent. Throws a `CliError`. */
function writeToken(path: string, token: string): void {
  try {
    writeAtomically(path, `${token}\n`);
  } catch (error) {
    throw new CliError(`Cannot write the new token to ${printable(path)}: ${errorText(error)}`, [
      "Nothing has been deployed. Name a file in a directory that you can write to.",
    ]);
  }
}

function pathOf({ io, account, wanted }: Work): string {
  return recordPath(io, account, wanted.name);
}

function recordOf(work: Work): DeploymentRecord {
  return readRecord(pathOf(work));
}

async function makeBucket({ wrangler }: Work, config: string, bucket: string): Promise<void> {
  const said = await wrangler.call(["r2", "bucket", "create", bucket, "--config", config]);
  // Somebody else, or an interrupted command, may have made it since it was looked for.
  if (said.code !== 0 && !/\b10004\b/.test(textOf(said))) {
    throw wranglerFailed(`create the bucket ${bucket}`, said);
  }
}

/**
 * The values of these secrets: those that are stored here, else new ones. They are stored before anybody
 * sends them (deploy.md#secrets). `present`: the token that the Worker has, which no rotation makes again.
 */
function madeSecrets(
  work: Work,
  names: readonly string[],
  present: string | undefined,
): Record<string, string> {
  const record = recordOf(work);
  const next = record.nextToken === present ? undefined : record.nextToken;
  const { rotateToken } = work.wanted;
  const made: Record<string, string> = {};
  for (const name of names) {
    const isNext = rotateToken && name === ADMIN_TOKEN;
    made[name] = (isNext ? next : record.secrets[name]) ?? freshSecret(name);
  }
  if (names.length === 0) return made;
  const { [ADMIN_TOKEN]: token, ...others } = made;
  const rotated = rotateToken && token !== undefined ? { nextToken: token } : {};
  const kept = rotateToken ? others : made;
  writeRecord(pathOf(work), { ...record, ...rotated, secrets: { ...record.secrets, ...kept } });
  return made;
}

/** 32 random bytes: base64 for a wrapping key, else digits and letters, which no shell changes. */
function freshSecret(name: string): string {
  const bytes = randomBytes(SECRET_BYTES);
  return bytes.toString(name.startsWith("DROVER_KEK_") ? "base64" : "hex");
}

async function backedUp({ io, account, wanted }: Work, running: Running): Promise<string> {
  const client = clientFor(running);
  const head = await headFor(client, running.url);
  const file = `${wanted.name}-${running.deployed.version}-${timeInName(head)}.jsonl.gz`;
  const path = join(recordFolder(io, account), file);
  makeFolderFor(path);
  await writeBackup(path, head, linesOf(client, withinOf(running), false));
  return path;
}

/** Uploads Worker, assets and secrets. Returns where hosts reach it from now on. */
async function uploaded(
  work: Work,
  config: string,
  plan: Plan,
  secrets: Record<string, string>,
): Promise<string> {
  const upload = (more: string[]) => work.wrangler.call(["deploy", "--config", config, ...more]);
  const said =
    Object.keys(secrets).length === 0
      ? await upload([])
      : await withSecretsFile(pathOf(work), secrets, (file) => upload(["--secrets-file", file]));
  if (said.code !== 0) throw wranglerFailed("upload the Worker", said);
  return addressOf(said, plan);
}

/** Where hosts reach the Worker that was uploaded. Throws a `CliError` if another one was named. */
function addressOf({ entries }: Answer, { domain, url }: Plan): string {
  if (domain !== undefined) return `https://${domain}`;
  const targets = entries.flatMap(({ targets: some = [] }) => some);
  const host = targets.find((one) => WORKERS_DEV.test(one))?.replace("https://", "");
  if (url !== undefined && host !== undefined && url !== `https://${host}`) throw otherWorker(url, host);
  if (url !== undefined) return url;
  if (host !== undefined) return `https://${host}`;
  throw new CliError("The Worker is uploaded, and has no address at workers.dev.", [
    "Give it one: --domain drover.example.com",
  ]);
}

/** The person has named the control plane of another Worker. The upload has changed none of its secrets. */
function otherWorker(url: string, host: string): CliError {
  return new CliError(`The Worker is uploaded to https://${host}, and the Drover that was named is ${url}.`, [
    "So that was another Worker, or its DROVER_URL is wrong. No secret and no context has been changed.",
    `Name the right one: drover login https://${host}, and drover --context <name> deploy`,
  ]);
}

async function tellUrl(wrangler: Wrangler, config: string, url: string): Promise<void> {
  const said = await wrangler.call(
    ["secret", "bulk", "--config", config],
    JSON.stringify({ [URL_NAME]: url }),
  );
  if (said.code !== 0) throw wranglerFailed(`tell the Worker its address (${URL_NAME})`, said);
}

/** Waits until the new version answers at its address (deploy.md#upgrade). Throws a `CliError`. */
async function answers({ io, wanted, waitMs }: Work, candidate: Candidate, plan: Plan): Promise<void> {
  await io.say(`uploaded; waiting until ${candidate.url} answers`);
  const until = Date.now() + waitMs;
  for (;;) {
    const seen = await deployedAt(candidate);
    if (typeof seen !== "string" && seen.version === wanted.version && isToldThere(seen, candidate, plan))
      return;
    if (Date.now() >= until) throw notThere(candidate, seen, wanted, plan);
    await sleep(ASKED_EVERY_MS);
  }
}

/** Whether it says that hosts reach it there. One that was not asked before may have another address. */
function isToldThere({ url }: Deployed, candidate: Candidate, { tellsUrl, from }: Plan): boolean {
  const isBlind = !tellsUrl && from === undefined;
  return isBlind ? url !== null : url === candidate.url;
}

function notThere(
  { url }: Candidate,
  seen: Awaited<ReturnType<typeof deployedAt>>,
  { name, version }: Wanted,
  { from, domain }: Plan,
): CliError {
  const why =
    seen === "silent" || seen === "old"
      ? seen === "old"
        ? "the version before answers"
        : "nothing answers there"
      : seen === "refused"
        ? "it does not accept the token"
        : `it says that it is version ${seen.version}, at ${seen.url ?? "an unknown address"}`;
  const isNew = from === undefined || from === version;
  return new CliError(`The Worker is uploaded, but ${url} is not version ${version} yet: ${why}.`, [
    ...(domain === undefined
      ? []
      : ["A new domain answers once it has its certificate, which takes minutes."]),
    "Repeat the command: it waits again.",
    ...(isNew
      ? []
      : [
          `If it stays so, go back to ${from}: npx wrangler rollback --name ${name}`,
          "Cloudflare refuses that across a migration of Durable Objects; then deploy a version that works.",
        ]),
  ]);
}
