// What is known before a deployment is planned (deploy.md#facts), and what follows for bucket and addresses?

/** What a control plane says of itself. One of an earlier version says less. */
export interface Deployed {
  version: string;
  url: string | null;
  bucket: boolean;
  /** The name of its bucket; absent or null: it has none, or does not know. */
  bucketName?: string | null;
  /** The custom domains at which it answers. */
  domains?: readonly string[];
}

/** Where a control plane may be, and which token it may accept. */
export interface Candidate {
  url: string;
  token: string;
}

/** A control plane that answers. */
export interface Running extends Candidate {
  deployed: Deployed;
  /** Machines that are not gone. */
  workers: readonly { id: string; pool: string; protocol?: number }[];
  /** Why machines may be missing in that list. */
  unseen?: string;
}

/** A control plane that is known here, and says nothing about itself. `isOld`: its version cannot. */
export interface Silent extends Candidate {
  isOld: boolean;
}

/** What the record of an earlier deployment says. */
export interface Recorded {
  /** Where it was last seen to answer. */
  url?: string;
  /** The address that is told to the Worker with an upload, from before it until the Worker has answered. */
  nextUrl?: string;
  /** The name of the bucket that was bound last; null: none. */
  bucket?: string | null;
  domains?: readonly string[];
}

/** What was found (deploy.md#facts). */
export interface Facts {
  /** The names of the secrets that the Worker has; null: there is no Worker of this name. */
  secrets: readonly string[] | null;
  buckets: readonly string[];
  /** Undefined: none answers to a token that is known here. */
  running: Running | undefined;
  silent: Silent | undefined;
  /** Whether a Drover is where one is known, and accepts no token that is known here. */
  isRefused: boolean;
  /** Whether the token of a first deployment is stored here, which may have been interrupted. */
  hasToken: boolean;
  recorded: Recorded;
  /** The Drover that the person has named, in words. */
  named: string | undefined;
}

export const URL_NAME = "DROVER_URL";

/**
 * Whether a first deployment from here was interrupted, so that nothing runs there yet: the Worker does not
 * know its address, or was told one at which it has never answered (deploy.md#steps).
 */
export function isUnfinished({ secrets, running, hasToken, isRefused, recorded }: Facts): boolean {
  if (secrets === null || running !== undefined || !hasToken || isRefused) return false;
  return !secrets.includes(URL_NAME) || (recorded.url === undefined && recorded.nextUrl !== undefined);
}

/** The bucket that is bound to a Worker; null: none; undefined: nobody knows (deploy.md#bucket). */
export function boundBucket({ running, recorded }: Facts): string | null | undefined {
  if (running?.deployed.bucket === false) return null;
  const known = running?.deployed.bucketName ?? recorded.bucket;
  return running !== undefined && known === null ? undefined : known;
}

/** The address that hosts are told; undefined: there is none yet. */
export function presentUrl(facts: Facts): string | undefined {
  const { running, recorded, silent } = facts;
  if (running !== undefined) return running.deployed.url ?? undefined;
  return recorded.url ?? (isUnfinished(facts) ? recorded.nextUrl : silent?.url);
}

/** The custom domains at which it answers, of which none may be lost (deploy.md#domains). */
export function presentDomains(facts: Facts): string[] {
  const { running, recorded } = facts;
  const present = customDomainOf(presentUrl(facts));
  const known = running?.deployed.domains ?? recorded.domains ?? [];
  return [...new Set([...known, ...(present === undefined ? [] : [present])])];
}

/** The custom domain of an address; undefined for one of `workers.dev`. */
export function customDomainOf(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  const { hostname } = new URL(url);
  return hostname.endsWith(".workers.dev") ? undefined : hostname;
}
