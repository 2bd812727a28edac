// What does a deployment do, given what is there, and why may it not (deploy.md#steps)?
import { type Compatibility, isUnderstood, PROTOCOLS } from "../../src/shared/compat.ts";
import {
  boundBucket,
  customDomainOf,
  type Facts,
  isUnfinished,
  presentDomains,
  presentUrl,
  type Running,
  URL_NAME,
} from "./facts.ts";
import { compareVersions } from "./versions.ts";

/** The secrets without which the Worker is not uploaded. */
export const ADMIN_TOKEN = "DROVER_ADMIN_TOKEN";
const SIGNING_KEY = "DROVER_SIGNING_KEY";
const FIRST_WRAPPING_KEY = "DROVER_KEK_1";
const WRAPPING_KEY = /^DROVER_KEK_[1-9]\d*$/;

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
  /** All custom domains at which it answers from now on. */
  domains: string[];
  /** The one that hosts are told. */
  domain: string | undefined;
  /** What hosts are told; undefined: it is known after the upload. */
  url: string | undefined;
  /** What hosts were told before; undefined: nothing. */
  before: string | undefined;
  /** Whether the Worker is told its address. */
  tellsUrl: boolean;
}

/** Why nothing is done. */
export interface Refusal {
  kind: "refusal";
  why: string;
  hints: string[];
}

/** Plans a deployment (deploy.md#steps), or refuses it (deploy.md#upgrade). `protocols`: those of agents. */
export function planOf(
  facts: Facts,
  wanted: Wanted,
  protocols: readonly Compatibility[] = PROTOCOLS,
): Plan | Refusal {
  const refusal = refusalOf(facts, wanted, protocols) ?? refusalOfBucket(facts, wanted);
  if (refusal !== undefined) return refusal;
  const { secrets, buckets, running } = facts;
  const bucket = bucketOf(facts, wanted);
  const before = presentUrl(facts);
  const domain = wanted.domain ?? customDomainOf(before);
  const url = domain === undefined ? before : `https://${domain}`;
  // What a control plane that says nothing was told stays, unless the person says otherwise.
  const isBlind = secrets?.includes(URL_NAME) === true && running === undefined && !isUnfinished(facts);
  return {
    kind: "plan",
    bucket,
    makesBucket: bucket !== null && !buckets.includes(bucket),
    newSecrets: missingSecrets(secrets ?? [], wanted.rotateToken),
    from: running?.deployed.version,
    backsUp: running !== undefined && wanted.backup,
    domains: [...new Set([...presentDomains(facts), ...(domain === undefined ? [] : [domain])])],
    domain,
    url,
    before,
    tellsUrl: isBlind ? wanted.domain !== undefined : url === undefined || url !== running?.deployed.url,
  };
}

function refusalOf(facts: Facts, wanted: Wanted, protocols: readonly Compatibility[]): Refusal | undefined {
  const { secrets, running, named } = facts;
  const { name, version } = wanted;
  if (secrets === null && named !== undefined) {
    return refused(`${named}, and there is no Worker ${name} in this account.`, [
      "Name its Worker and its account: --name, --account",
      "To make another Drover, name none: unset DROVER_URL, and leave --context out.",
    ]);
  }
  if (secrets !== null && !secrets.includes(ADMIN_TOKEN)) {
    return refused(`There is a Worker ${name} in this account, and it is not a Drover.`, [
      "Choose another name: drover deploy --name build",
    ]);
  }
  if (secrets !== null && running === undefined) return refusalOfSilent(facts, wanted);
  if (running === undefined) return undefined;
  const { deployed } = running;
  if (compareVersions(deployed.version, version) > 0) {
    return refused(`Version ${deployed.version} is running, and this command is version ${version}.`, [
      "An older version cannot read what a newer one has stored. Use the newer command.",
    ]);
  }
  return wanted.force ? undefined : refusalOfAgents(running, version, protocols);
}

/** A Worker that does not answer to a token that is known here. */
function refusalOfSilent(facts: Facts, { name, force }: Wanted): Refusal | undefined {
  const { silent, hasToken } = facts;
  if (isUnfinished(facts)) return undefined;
  if (silent === undefined) {
    return refused(
      `There is a Drover ${name} in this account, and nothing here has a token that it accepts.`,
      [
        ...(hasToken
          ? ["This computer has a record of it, with a token that is not, or no longer, its own."]
          : []),
        "Log in with its DROVER_ADMIN_TOKEN: drover login <url>. Then: drover --context <name> deploy",
        "If it has a domain of its own, name that as well: --domain drover.example.com",
        `If nobody has it any more: npx wrangler secret put DROVER_ADMIN_TOKEN --name ${name}`,
      ],
    );
  }
  if (force) return undefined;
  if (silent.isOld) {
    return refused(`The Drover at ${silent.url} is of a version that cannot say what was deployed.`, [
      "So nothing can be checked or backed up. --force upgrades it all the same.",
    ]);
  }
  return refused(`The Drover at ${silent.url} does not answer, so nothing can be checked or backed up.`, [
    "It may take minutes until a new address answers: try again then.",
    "--force deploys all the same, without a backup: for one that is broken.",
  ]);
}

/** Machines whose agents the new version does not understand (compat.md#hosts), or that nobody sees. */
function refusalOfAgents(
  { workers, unseen }: Running,
  version: string,
  protocols: readonly Compatibility[],
): Refusal | undefined {
  if (unseen !== undefined) {
    return refused(`Not all machines can be checked: ${unseen}.`, [
      "Try again later. --force goes on without the check.",
    ]);
  }
  const hasDropped = (until: string) => compareVersions(version, until) >= 0;
  const old = workers.filter(({ protocol }) => !isUnderstood(protocol ?? 0, hasDropped, protocols));
  if (old.length === 0) return undefined;
  const names = old.map(({ id, pool }) => `${id} (pool ${pool})`).join(", ");
  return refused(`Version ${version} does not understand the agents of these machines: ${names}.`, [
    "Replace them first: `drover drain` ends each once its runs have ended, and new ones have the new agent.",
    "--force goes on: their runs end at the end of their leases.",
  ]);
}

/** Another bucket, or none, where there is one (deploy.md#bucket). `--force` does not help: nothing would. */
function refusalOfBucket(facts: Facts, { bucket }: Wanted): Refusal | undefined {
  if (facts.secrets === null || isUnfinished(facts)) return undefined;
  const bound = boundBucket(facts);
  if (bound === null || (typeof bound === "string" && (bucket === undefined || bucket === bound))) {
    return undefined;
  }
  if (bucket === false && (bound !== undefined || facts.running !== undefined)) {
    return refused("This Drover has a bucket, and without it what is in the bucket could not be read.", [
      "Leave --no-bucket out.",
    ]);
  }
  if (bound !== undefined) {
    return refused(`This Drover has the bucket ${bound}, and could not read it with another one bound.`, [
      "Leave --bucket out.",
    ]);
  }
  if (bucket !== undefined) return undefined; // only the person knows it
  return refused(
    "Nothing here says which bucket this Drover has, and another one would hide what is in it.",
    [
      "Name it: --bucket <name>, or --no-bucket if it has none. The dashboard shows it: the settings of the",
      "Worker, Bindings, LOGS.",
    ],
  );
}

function refused(why: string, hints: string[]): Refusal {
  return { kind: "refusal", why, hints };
}

/** The bucket: the one that is bound, or that was asked for, or else the usual one; null: none. */
function bucketOf(facts: Facts, { bucket, name }: Wanted): string | null {
  if (typeof bucket === "string") return bucket;
  if (bucket === false) return null;
  const bound = facts.secrets === null ? undefined : boundBucket(facts);
  return bound === undefined ? `${name}-logs` : bound;
}

/** The secrets that the Worker lacks, and the token if it is to be replaced. */
function missingSecrets(there: readonly string[], rotateToken: boolean): string[] {
  const wanted = [ADMIN_TOKEN, SIGNING_KEY];
  const missing = wanted.filter((name) => !there.includes(name) || (rotateToken && name === ADMIN_TOKEN));
  return there.some((name) => WRAPPING_KEY.test(name)) ? missing : [...missing, FIRST_WRAPPING_KEY];
}

/** The plan for people, a line a step. */
export function planLines(plan: Plan, { name, version }: Wanted, account: string): string[] {
  const { from, bucket, makesBucket, newSecrets, backsUp, domains, url, tellsUrl } = plan;
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
    ...(domains.length === 0
      ? []
      : [`serve it at ${domains.join(", ")} as well; a DNS record or another Worker there is replaced`]),
    ...(tellsUrl || url !== undefined ? [`tell hosts its address: ${url ?? "known after the upload"}`] : []),
    "wait until it answers, and store the context",
  ];
}
