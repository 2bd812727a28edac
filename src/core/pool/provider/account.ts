// Whose machines does a listing show, after the credentials were changed (clouds.md#accounts)?
import { TRAITS } from "../../../shared/cloud/kinds.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { Gap, ListAnswer } from "../../provider-answers.ts";
import { type KnownAccount, type PoolRecord, providedWorkers } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";

type Listed = Extract<ListAnswer, { kind: "listed" }>;

/** What a listing says of the account: what is known of it from now on, and why absence proves nothing. */
export interface AccountJudgment {
  account: KnownAccount | undefined;
  gap: Gap | undefined;
}

/**
 * Judges whether a listing shows the account of the pool's machines. It does if it names that account, or was
 * made with the same credentials as an earlier listing of it. Otherwise it must show one of the machines that
 * were known before the credentials changed: a machine that was made since then may be in another account, as
 * the listing is. Without such machines nothing can be lost, and any account will do.
 *
 * `credentials`: a digest of those that were used; undefined: unknown.
 */
export function judgeAccount(
  { record, workers, memo }: ReadonlyConfigured,
  { account: name, items }: Pick<Listed, "account" | "items">,
  credentials: string | undefined,
  now: Instant,
): AccountJudgment {
  const before = record.account;
  if (!TRAITS[record.config.provider.kind].credentialsNameAccount) return { account: before, gap: undefined };
  const known = before ?? {};
  const accepted = { account: accountOf(known, name, credentials), gap: undefined };
  if (isSame(known, name, credentials)) return accepted;
  const doubtedSince = known.doubtedSince ?? memo.sweptAt ?? now;
  const machines = [...providedWorkers({ workers })].flatMap(({ instance, askedAt }) =>
    instance !== null && askedAt < doubtedSince ? [instance] : [],
  );
  if (machines.length === 0 || items.some(({ id }) => machines.includes(id))) return accepted;
  const why =
    `the credentials were changed, and show none of the ${machines.length} machines that this pool had ` +
    "before, as those of another account would; put the former credentials back until these machines have " +
    "ended, or kill their workers by force";
  return { account: { ...known, doubtedSince }, gap: { why } };
}

/** Whether a listing must be one of the known account. */
function isSame(known: KnownAccount, name: string | undefined, credentials: string | undefined): boolean {
  if (name !== undefined && known.name !== undefined) return name === known.name;
  return known.credentials === undefined || credentials === undefined || credentials === known.credentials;
}

function accountOf(
  known: KnownAccount,
  name = known.name,
  credentials = known.credentials,
): PoolRecord["account"] {
  const account = {
    ...(name === undefined ? {} : { name }),
    ...(credentials === undefined ? {} : { credentials }),
  };
  return Object.keys(account).length === 0 ? undefined : account;
}
