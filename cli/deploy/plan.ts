// What does a deployment do, given what is there, and why may it not (deploy.md#steps)?
import { isUnderstood } from "../../src/shared/compat.ts";
import { compareVersions } from "./versions.ts";

/** The secrets without which the Worker is not uploaded. */
export const ADMIN_TOKEN = "DROVER_ADMIN_TOKEN";
const SIGNING_KEY = "DROVER_SIGNING_KEY";
export const URL_NAME = "DROVER_URL";
const FIRST_WRAPPING_KEY = "DROVER_KEK_1";
const WRAPPING_KEY = /^DROVER_KEK_[1-9]\d*$/;

/** What a control plane says of itself (deploy.md#facts). */
export interface Deployed {
  version: string;
  url: string | null;
  bucket: boolean;
}

/** A control plane that answers. */
export interface Running {
  /** Where it has answered, and to which token. */
  url: string;
  token: string;
  deployed: Deployed;
  /** Machines that are not gone. */
  workers: readonly { id: string; pool: string; protocol?: number }[];
}

/** What was found (deploy.md#facts). */
export interface Facts {
  /** The names of the secrets that the Worker has; null: there is no Worker of this name. */
  secrets: readonly string[] | null;
  buckets: readonly string[];
  /** Undefined: none answers to a token that is known here. */
  running: Running | undefined;
  /** Where the one that is known here should answer, and does not. */
  silentAt: string | undefined;
  /** Whether the token of a first deployment is stored here, which may have been interrupted. */
  hasToken: boolean;
}

/** What the person wants. `bucket`: false for none; undefined for what is there, or else the usual one. */
export interface Wanted {
  name: string;
  version: string;
  bucket: string | false | undefined;
  domain: string | undefined;
  rotateToken: boolean;
  force: boolean;
  backup: boolean;
}

export interface Plan {
  kind: "plan";
  /** What the Worker is told of the bucket; null: none. */
  bucket: string | null;
  makesBucket: boolean;
  /** The secrets that are made here and sent. */
  newSecrets: string[];
  /** The version that runs; undefined: there is none yet. */
  from: string | undefined;
  backsUp: boolean;
  domain: string | undefined;
  /** What hosts are told; undefined: it is known after the upload. */
  url: string | undefined;
}

/** Why nothing is done. */
export interface Refusal {
  kind: "refusal";
  why: string;
  hints: string[];
}

/** Plans a deployment (deploy.md#steps), or refuses it (deploy.md#upgrade). */
export function planOf(facts: Facts, wanted: Wanted): Plan | Refusal {
  const refusal = refusalOf(facts, wanted);
  if (refusal !== undefined) return refusal;
  const { secrets, buckets, running } = facts;
  const bucket = bucketOf(running?.deployed, wanted);
  const domain = wanted.domain ?? customDomainOf(running?.deployed.url);
  return {
    kind: "plan",
    bucket,
    makesBucket: bucket !== null && !buckets.includes(bucket),
    newSecrets: missingSecrets(secrets ?? [], wanted.rotateToken),
    from: running?.deployed.version,
    backsUp: running !== undefined && wanted.backup,
    domain,
    url: domain === undefined ? (running?.deployed.url ?? undefined) : `https://${domain}`,
  };
}

function refusalOf(facts: Facts, wanted: Wanted): Refusal | undefined {
  const { secrets, running } = facts;
  const { name, version } = wanted;
  if (secrets !== null && !secrets.includes(ADMIN_TOKEN)) {
    return refused(`There is a Worker ${name} in this account, and it is not a Drover.`, [
      "Choose another name: drover deploy --name build",
    ]);
  }
  if (secrets !== null && running === undefined) return refusalOfSilent(facts, secrets, wanted);
  if (running === undefined) return undefined;
  const { deployed } = running;
  if (compareVersions(deployed.version, version) > 0) {
    return refused(`Version ${deployed.version} is running, and this command is version ${version}.`, [
      "An older version cannot read what a newer one has stored. Use the newer command.",
    ]);
  }
  if (deployed.bucket && wanted.bucket === false) {
    return refused("This Drover has a bucket, and without it what is in the bucket could not be read.", [
      "Leave --no-bucket out.",
    ]);
  }
  return wanted.force ? undefined : refusalOfAgents(running, version);
}

/**
 * A Worker that does not answer to a token that is known here. The first deployment may have been interrupted
 * before the Worker knew its address; then nothing runs there yet.
 */
function refusalOfSilent(
  { hasToken, silentAt }: Facts,
  secrets: readonly string[],
  { name, force }: Wanted,
): Refusal | undefined {
  if (hasToken && !secrets.includes(URL_NAME)) return undefined;
  if (silentAt === undefined) {
    return refused(
      `There is a Drover ${name} in this account, and nothing here has a token that it accepts.`,
      [
        "Log in with its DROVER_ADMIN_TOKEN: drover login <url>. Then: drover --context <name> deploy",
        "If it has a domain of its own, name that as well: --domain drover.example.com",
        `If nobody has it any more: npx wrangler secret put DROVER_ADMIN_TOKEN --name ${name}`,
      ],
    );
  }
  if (force) return undefined;
  return refused(`The Drover at ${silentAt} does not answer, so nothing can be checked or backed up.`, [
    "It may take minutes until a new address answers: try again then.",
    "--force deploys all the same, without a backup: for one that is broken.",
  ]);
}

/** Machines whose agents the new version does not understand (compat.md#hosts). */
function refusalOfAgents({ workers }: Running, version: string): Refusal | undefined {
  const hasDropped = (until: string) => compareVersions(version, until) >= 0;
  const old = workers.filter(({ protocol }) => !isUnderstood(protocol ?? 0, hasDropped));
  if (old.length === 0) return undefined;
  const names = old.map(({ id, pool }) => `${id} (pool ${pool})`).join(", ");
  return refused(`Version ${version} does not understand the agents of these machines: ${names}.`, [
    "Replace them first: `drover drain` ends each once its runs have ended, and new ones have the new agent.",
    "--force goes on: their runs end at the end of their leases.",
  ]);
}

function refused(why: string, hints: string[]): Refusal {
  return { kind: "refusal", why, hints };
}

/** The bucket: the one that was asked for, none where there is none already, or else the usual one. */
function bucketOf(deployed: Deployed | undefined, { bucket, name }: Wanted): string | null {
  if (typeof bucket === "string") return bucket;
  if (bucket === false || deployed?.bucket === false) return null;
  return `${name}-logs`;
}

/** The secrets that the Worker lacks, and the token if it is to be replaced. */
function missingSecrets(there: readonly string[], rotateToken: boolean): string[] {
  const wanted = [ADMIN_TOKEN, SIGNING_KEY];
  const missing = wanted.filter((name) => !there.includes(name) || (rotateToken && name === ADMIN_TOKEN));
  return there.some((name) => WRAPPING_KEY.test(name)) ? missing : [...missing, FIRST_WRAPPING_KEY];
}

/** The custom domain of an address; undefined for one of `workers.dev`. */
function customDomainOf(url: string | null | undefined): string | undefined {
  if (url === null || url === undefined) return undefined;
  const { hostname } = new URL(url);
  return hostname.endsWith(".workers.dev") ? undefined : hostname;
}

/** The plan for people, a line a step. */
export function planLines(plan: Plan, { name, version }: Wanted, account: string): string[] {
  const { from, bucket, makesBucket, newSecrets, backsUp, domain, url } = plan;
  const upgrade =
    from === undefined
      ? `deploy Drover ${version} as the Worker ${name}`
      : from === version
        ? `deploy version ${version} again`
        : `upgrade from version ${from} to ${version}`;
  return [
    ...(makesBucket ? [`create the bucket ${bucket}`] : []),
    ...(newSecrets.length > 0 ? [`make secrets: ${newSecrets.join(", ")}`] : []),
    ...(backsUp ? ["write a backup"] : []),
    `${upgrade}, in the account ${account}`,
    ...(bucket === null ? ["go without a bucket: no snapshots, and all output is stored in rows"] : []),
    ...(domain === undefined
      ? []
      : [`serve it at ${domain} as well; a DNS record or another Worker there is replaced`]),
    `tell hosts its address: ${url ?? "known after the upload"}`,
    "wait until it answers, and store the context",
  ];
}
