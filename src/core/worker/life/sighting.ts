// What does a listing of the provider prove about a worker's machine?
import type { ProviderConfig } from "../../../schema/pool/provider-config.ts";
import type { Instance } from "../../../schema/provider.ts";
import { TRAITS } from "../../../shared/cloud/kinds.ts";
import { LEASE_MARGIN_MS, MAX_STRANGERS_SHOWN } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { clause } from "../../../shared/words.ts";
import type { Sighting } from "../../messages.ts";
import { isOtherProvider } from "../../pool/config-diff.ts";
import type { FindAnswer } from "../../provider-answers.ts";
import { endPlacements } from "../placements.ts";
import { type ExistingWorker, livePlacements, note, type WorkerRecord, type WorkerState } from "../state.ts";
import { foldBehavior } from "./behavior.ts";
import { callWanted } from "./calls.ts";
import { isUnmade } from "./deadlines.ts";
import { knownOf, paidUntil } from "./machine-facts.ts";
import { goneNow, shutDown } from "./shutdown.ts";

/** How many changes of a machine's price are remembered. */
export const MAX_PRICES = 50;

/**
 * Applies what a listing shows about this worker (invariant 3, rule R5). The state `terminated` proves the
 * machine's end, unless this is the state of another machine under the worker's name. Omissions prove the end
 * only if two listings omit the machine after the host's lease, or after its provider took the destroy call
 * and can be asked for the machine. The first of these listings must begin at least `consistencyMs` after the
 * worker's latest call, and the second at least `consistencyMs` after the first. Listings of another provider
 * prove nothing.
 */
export function foldSighting(before: ExistingWorker, listed: Sighting, now: Instant): WorkerState {
  const { intent } = before.record;
  if (intent.kind === "self-hosted" || isOtherProvider(intent.provider, listed.provider)) return before;
  const { sighting, isListed } = ownSighting(before.record, listed);
  const state = withDoubles(withProvider(before, sighting.provider), sighting);
  const { record } = state;
  const { instance, beganAt, missingSince = beganAt, consistencyMs } = sighting;
  if (instance?.state === "terminated") {
    return record.phase === "gone" || isAnother(record, instance.id)
      ? state
      : foldEnded(state, instance, beganAt, now);
  }
  if (instance !== undefined) return foldListed(withPrice(state, instance, beganAt), instance, beganAt, now);
  if (record.phase === "gone" || isListed) return state;
  const leased = !isToldToEnd(record) && beganAt < record.leaseUntil + LEASE_MARGIN_MS;
  const { unlistedMs } = record.intent.settings;
  const unlisted = record.leaseUntil === 0 && beganAt < (record.createdAt ?? 0) + unlistedMs;
  const tooSoon = record.calledAt === null || beganAt < record.calledAt + consistencyMs;
  if (leased || tooSoon || unlisted || isUnmade(state)) return state;
  // The series of omissions starts again if a listing in between showed the machine, or may have shown it.
  const first = record.omittedAt === null || missingSince > record.omittedAt ? beganAt : record.omittedAt;
  if (first === beganAt) return { ...state, record: { ...record, omittedAt: beganAt } };
  if (beganAt < first + consistencyMs) return state;
  // A listing may omit what exists, so a provider that can is asked for the machine itself.
  if (TRAITS[intent.provider.kind].finds) return { ...state, record: withLook(record) };
  return foldMissing(state, "two listings omit it, and its host's lease is over", now);
}

/** The worker waits for its turn to look for its machine. A look that has its turn already is enough. */
function withLook(record: WorkerRecord): WorkerRecord {
  return record.looks ? record : { ...record, looks: true, waits: true };
}

/**
 * Whether the provider has taken the call to destroy the machine, and can be asked whether the machine still
 * exists. Then the answer is as good as the state `terminated`, and need not wait for the end of the lease:
 * clouds whose machines just vanish would otherwise keep each permit for minutes
 * (clouds.md#looking-for-a-machine).
 */
function isToldToEnd({ intent, destroyAskedAt, destroyFailure }: WorkerRecord): boolean {
  if (intent.kind === "self-hosted" || destroyAskedAt === null || destroyFailure !== null) return false;
  return TRAITS[intent.provider.kind].finds;
}

/** Ends a worker whose machine does not exist. Another machine under its name must then end with it. */
function foldMissing(state: ExistingWorker, proof: string, now: Instant): WorkerState {
  const paid = withPaidUntil(state, undefined, now);
  const next = nextDouble(state.record);
  const gone = goneNow(paid, proof, now);
  return next === undefined ? gone : withMachine(gone, next, "its provider listed another machine", now);
}

/**
 * Applies the end of the worker's machine, as the provider saw it at `seenAt`. A machine can be created and
 * end between two listings: the pool counts the cost of a known machine, so its id is noted.
 */
function foldEnded(state: ExistingWorker, instance: Instance, seenAt: Instant, now: Instant): WorkerState {
  const { record } = state;
  const shown = record.instance === null ? { ...record, ...knownOf(record, instance, now) } : record;
  const known = withPaidUntil({ ...state, record: withFault(shown, instance, now) }, instance, now);
  const isWithdrawn = instance.fault !== undefined && record.phase === "booting";
  const text = instance.fault === undefined ? "" : `: ${clause(instance.fault.text)}`;
  const proof = `the provider says that it is terminated${text}`;
  const next = withNextDouble(known);
  if (next !== undefined) return next;
  const outcome = isWithdrawn ? "withdrawn" : undefined;
  if (!mayMakeAnother(record, seenAt)) return goneNow(known, proof, now, outcome);
  // The host that has joined since runs on another machine of this name.
  if (record.joinedAt !== null && seenAt < record.joinedAt) return state;
  endPlacements(known, livePlacements(known), "lost", true, now);
  return shutDown(withoutMachine(known), proof, now, outcome);
}

/**
 * Whether a create call without an answer may make another machine, although one of the worker's name had
 * ended at `seenAt`: where the name of an ended machine is free again (clouds.md#free-names).
 */
function mayMakeAnother(record: WorkerRecord, seenAt: Instant): boolean {
  const { intent, instance, mayBeMade, calling, calledAt } = record;
  if (intent.kind === "self-hosted" || instance !== null || !(mayBeMade || calling)) return false;
  return TRAITS[intent.provider.kind].freesNames === true && seenAt < (calledAt ?? 0);
}

/** The worker as if it had never known its machine: what a listing shows under its name is its own. */
function withoutMachine(state: ExistingWorker): ExistingWorker {
  return { ...state, record: { ...state.record, instance: null } };
}

/** Notes the end of what is paid for the machine. */
function withPaidUntil(state: ExistingWorker, shown: Instance | undefined, now: Instant): ExistingWorker {
  const { record } = state;
  if (record.paid === null) return state;
  const { from } = record.paid;
  return { ...state, record: { ...record, paid: { from, until: paidUntil(record, from, shown, now) } } };
}

/**
 * Notes why the provider ended the machine, or is about to. The pool holds such machines off as after a
 * refused call (clouds.md#faults-of-machines). A machine that Drover ends itself has no fault.
 */
function withFault(record: WorkerRecord, { fault }: Instance, now: Instant): WorkerRecord {
  if (fault === undefined || record.failure !== null || record.phase === "shutdown") return record;
  return { ...record, failure: { ...fault, at: now } };
}

/** Applies what looking for the machine by itself has shown (clouds.md#looking-for-a-machine). */
export function foldFound(before: ExistingWorker, answer: FindAnswer, now: Instant): WorkerState {
  const { record } = before;
  if (!record.looks) return before;
  const looked = { ...record, looks: false };
  const state = { ...before, record: { ...looked, waits: callWanted(looked) !== undefined } };
  if (record.phase === "gone" || answer.kind === "unsure") return state;
  if (answer.kind === "none")
    return foldMissing(state, "two listings omit it, and its provider does not know it", now);
  const { instance } = answer;
  if (isAnother(record, instance.id)) return state;
  const found = { ...state, record: { ...state.record, omittedAt: null } };
  return instance.state === "terminated"
    ? foldEnded(found, instance, now, now)
    : foldListed(found, instance, now, now);
}

/**
 * What a listing shows about the worker's own machine. If it shows another machine instead of the known
 * machine, the other machine counts as a double. Otherwise the end of the double would count as the end of
 * the worker, although the worker's host may still run tasks (rules.md#r4). `isListed`: the known machine is
 * among the doubles, because the pool does not know yet which machine is the worker's own.
 */
function ownSighting(record: WorkerRecord, sighting: Sighting): { sighting: Sighting; isListed: boolean } {
  const { instance, doubles = [] } = sighting;
  const isOwn = instance !== undefined && !isAnother(record, instance.id);
  const saysNothing = instance === undefined && sighting.doubles === undefined;
  if (isOwn || saysNothing || record.phase === "gone" || record.instance === null) {
    return { sighting, isListed: false };
  }
  const isLiving = instance !== undefined && instance.state !== "terminated";
  const living = isLiving ? [...doubles, instance.id] : doubles;
  const others = living.filter((id) => id !== record.instance?.id);
  return {
    sighting: { ...sighting, instance: undefined, doubles: others },
    isListed: others.length < living.length,
  };
}

/**
 * Notes other machines that a listing shows under the worker's name: the provider made several machines for
 * one token. The other machines are shown to readers, and left alone while the worker lives, since the host
 * may run on any of them.
 */
function withDoubles(state: ExistingWorker, { doubles, beganAt }: Sighting): ExistingWorker {
  const { record } = state;
  if (doubles === undefined || record.phase === "gone" || isSame(record.doubles, doubles)) return state;
  const gone = "the provider no longer lists any other machine under its name";
  const [type, text] = doubles.length === 0 ? ["Doubles Gone", gone] : ["Doubles Seen", doublesText(doubles)];
  const former = [...record.formerDoubles, ...record.doubles].filter((id) => !doubles.includes(id));
  const formerDoubles = [...new Set(former)].slice(-MAX_STRANGERS_SHOWN);
  return { ...state, record: note({ ...record, doubles, formerDoubles }, type, text, beganAt) };
}

/** Says that there are other machines, and what happens to them. */
export function doublesText(doubles: readonly string[]): string {
  const ids = doubles.join(", ");
  const then = "they cost money until this worker is gone";
  return `its provider also lists ${ids} under its name: ${then}`;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((id) => others.includes(id));
}

/**
 * The worker with one of its doubles in place of the machine that ended. Undefined: the worker has no double.
 * The worker's host may run on this double, and the double must end with the worker (rules.md#invariant-3).
 */
function withNextDouble(state: ExistingWorker): ExistingWorker | undefined {
  const next = state.record.phase === "gone" ? undefined : nextDouble(state.record);
  if (next === undefined) return undefined;
  const waits = state.record.waits || state.record.phase === "shutdown";
  return {
    ...state,
    record: { ...state.record, ...next, ...paidAgain(state.record), destroyAskedAt: null, waits },
  };
}

/** A machine of the worker is paid for again, until the end of the worker is seen or forced. */
function paidAgain({ paid }: WorkerRecord): Pick<WorkerRecord, "paid"> {
  return { paid: paid && { ...paid, until: null } };
}

type NextDouble = Pick<WorkerRecord, "instance" | "doubles" | "formerDoubles" | "omittedAt">;

/**
 * One of the worker's doubles as its machine, and the doubles that are left. Former doubles come last: one
 * listing may omit a machine that lives (rules.md#r5).
 */
function nextDouble({ doubles, formerDoubles }: WorkerRecord): NextDouble | undefined {
  const [id, ...others] = [...doubles, ...formerDoubles];
  if (id === undefined) return undefined;
  return {
    instance: { id, address: null },
    omittedAt: null,
    doubles: doubles.filter((other) => other !== id),
    formerDoubles: others.filter((other) => !doubles.includes(other)),
  };
}

/** Notes a new price of the machine (pool.md#prices). */
function withPrice(state: ExistingWorker, { price }: Instance, beganAt: Instant): ExistingWorker {
  const { prices } = state.record;
  const latest = prices.at(-1);
  if (price === undefined || price === latest?.price || beganAt < (latest?.since ?? 0)) return state;
  const now = [...prices, { price, since: beganAt }].slice(-MAX_PRICES);
  return { ...state, record: { ...state.record, prices: now } };
}

function isAnother({ instance }: WorkerRecord, id: string): boolean {
  return instance !== null && instance.id !== id;
}

/**
 * Takes over the provider's present configuration: without the present secret no machine can be destroyed.
 */
function withProvider(state: ExistingWorker, present: ProviderConfig): ExistingWorker {
  const { intent } = state.record;
  if (intent.kind === "self-hosted") return state;
  // Until the machine is made, the call is repeated with the same bytes (clouds.md#same-bytes).
  const provider = isUnmade(state) ? withCredentials(intent.provider, present) : present;
  if (JSON.stringify(intent.provider) === JSON.stringify(provider)) return state;
  return { ...state, record: { ...state.record, intent: { ...intent, provider } } };
}

/** A provider with the present credentials of the same provider. */
function withCredentials(provider: ProviderConfig, present: ProviderConfig): ProviderConfig {
  if (provider.kind === "none" || present.kind === "none") return provider;
  if (provider.kind === "http")
    return present.kind === "http" ? { ...provider, secret: present.secret } : provider;
  return present.kind === "http" ? provider : { ...provider, credentials: present.credentials };
}

/**
 * Applies a listing that shows the machine. If a destroy call was made long enough before the listing began,
 * the call is repeated (workers.md#t19). If the worker was marked gone, it shuts down again (invariant 3).
 */
function foldListed(state: ExistingWorker, instance: Instance, beganAt: Instant, now: Instant): WorkerState {
  const { record } = state;
  const { id, address } = instance;
  const known = knownOf(record, instance, now);
  const asked = record.destroyAskedAt;
  const ignored = asked !== null && beganAt >= asked + record.intent.settings.shutdownMs;
  const sameFacts = known.zone === record.zone && known.endsAt === record.endsAt;
  const same = record.instance?.id === id && record.instance.address === address && sameFacts;
  if (same && !ignored && record.phase !== "gone") return foldLifecycle(state, instance, now);
  const destroyAskedAt = ignored ? null : asked;
  // The create call seemed to fail, but made the machine.
  const reason = record.failure !== null && record.phase === "booting" ? "booting" : record.reason;
  const createdAt = record.createdAt ?? now;
  const waits = record.waits || ignored;
  const seen = { ...known, destroyAskedAt, createdAt, failure: null };
  const next = { ...record, ...seen, reason, waits };
  const found = { ...state, record: next };
  if (record.phase !== "gone") return foldLifecycle(found, instance, now);
  const text = "a listing shows its machine, which had counted as gone";
  return withMachine(found, othersOf(record, id), text, now);
}

/**
 * The other machines of a worker that counted as gone, when a listing shows `own` as its machine. If the
 * worker's end was forced, its known machine may be left behind, and the listing may omit it (rules.md#r5).
 */
function othersOf(record: WorkerRecord, own: string): Pick<NextDouble, "doubles" | "formerDoubles"> {
  const { instance, forced } = record;
  const left = forced === null || instance === null ? [] : [instance.id];
  const doubles = record.doubles.filter((id) => id !== own);
  const former = [...new Set([...left, ...record.formerDoubles])];
  return { doubles, formerDoubles: former.filter((id) => id !== own && !doubles.includes(id)) };
}

/**
 * A worker that counted as gone, and whose machine must be destroyed again (invariant 3). The machine's end
 * must be observed even if the worker's end was forced before.
 */
function withMachine(
  { record, ...state }: ExistingWorker,
  machine: Partial<NextDouble>,
  text: string,
  now: Instant,
): WorkerState {
  const owed = { phase: "shutdown", destroyAskedAt: null, goneAt: null, forced: null, waits: true } as const;
  const back = { ...record, ...machine, ...owed, ...paidAgain(record) };
  return { ...state, record: note(back, "Back", text, now) };
}

/**
 * Applies the state of a listed machine (decisions/workers.md#d28). A machine that is stopping, stopped or
 * broken takes no more runs, and is destroyed once no lease can be left (invariant 4). A machine that is
 * still booting is destroyed immediately. A worker on `hold` is left alone.
 */
function foldLifecycle(before: ExistingWorker, instance: Instance, now: Instant): WorkerState {
  const { state: listed, fault } = instance;
  const ends = listed === "stopping" || listed === "stopped" || listed === "error";
  const { phase, idleBehavior } = before.record;
  if (!ends || phase === "shutdown" || idleBehavior !== "run") return before;
  const state = { ...before, record: withFault(before.record, instance, now) };
  const text = `the provider, which says that it is ${WORDS[listed]}`;
  // A drain would count the boot as aborted, but this boot has failed.
  const outcome = fault === undefined ? "failure" : "withdrawn";
  if (phase === "booting") return shutDown(state, `ended by ${text}`, now, outcome);
  return foldBehavior(state, "drain", text, now);
}

const WORDS = { stopping: "about to stop", stopped: "stopped", error: "broken" };
