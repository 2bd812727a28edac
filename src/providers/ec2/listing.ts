// Which machines does EC2 have, also while one of its zones is out?
import type { FindAnswer, Gap, ListAnswer, ProviderFailure } from "../../core/provider-answers.ts";
import type { Instance } from "../../schema/provider.ts";
import { gapOf, listPages, type ReadPage } from "../pages.ts";
import type { KnownMachine } from "../provider.ts";
import type { Veil } from "../veil.ts";
import { unreadable } from "../wire.ts";
import type { Called, Failed } from "./calls.ts";
import { describeByFilter, describeByIds, type Form } from "./forms.ts";
import { machineIn } from "./machines.ts";
import { itemsAt, textAt, type XmlElement } from "./xml.ts";

/** Makes a call, and hides secrets in texts. */
export interface Asking {
  call: (form: Form) => Promise<Called>;
  veil: Veil;
}

/** How many machines a call by ids asks for, and how many of unknown zones are asked for at most. */
const IDS_PER_CALL = 100;
const MAX_SINGLES = 20;
/** A token names one machine. EC2 may show it behind pages that are empty. */
const MAX_TOKEN_PAGES = 10;
/** How often unknown ids are left out of a call by ids: EC2 names all of them at once. */
const MAX_LEFT_OUT = 3;

/** The codes of an id that EC2 does not know, or that cannot be one of EC2. */
export const UNKNOWN_ID: ReadonlySet<string> = new Set([
  "InvalidInstanceID.NotFound",
  "InvalidInstanceID.Malformed",
]);

interface Page {
  machines: Instance[];
  next: string | undefined;
  /** Why machines were left out of the page. */
  gap: string | undefined;
  /** The account that owns the machines. */
  owner: string | undefined;
}

/**
 * Lists all machines with the tag `key:value` (clouds/ec2.md#listing). While a zone is out, EC2 refuses every
 * call that names no ids. Then the known machines are asked for by id, zone by zone, and `partial` names the
 * zones that were not read (case 60).
 */
export async function listMachines(
  asking: Asking,
  tag: string,
  known: readonly KnownMachine[],
  beganAt: number,
  zones: readonly string[],
): Promise<ListAnswer> {
  const colon = tag.indexOf(":");
  const [key, value] = [tag.slice(0, colon), tag.slice(colon + 1)];
  let owner: string | undefined;
  let outage: ProviderFailure | undefined;
  const read = async (cursor: string | undefined): Promise<ReadPage | { failure: ProviderFailure }> => {
    const page = await pageOf(asking, describeByFilter(`tag:${key}`, value, cursor));
    if ("failure" in page) {
      if (isOutage(page)) outage = page.failure;
      return { failure: page.failure };
    }
    owner ??= page.owner;
    const isLast = page.next === undefined;
    const whole = { items: page.machines, complete: isLast, next: page.next };
    return page.gap === undefined ? whole : { ...whole, gap: page.gap };
  };
  const answer = await listPages(read, beganAt);
  const account = owner === undefined ? {} : { account: owner };
  if (outage === undefined || !known.some(({ id }) => id !== null)) {
    return answer.kind === "listed" ? { ...answer, ...account } : answer;
  }
  const found = await askByZone(asking, known, zones, outage.text);
  if (found === undefined) return answer;
  const shown = answer.kind === "listed" ? answer.items : [];
  const items = new Map([...shown, ...found.machines].map((machine) => [machine.id, machine]));
  const { owner: by = owner, partial } = found;
  const whose = by === undefined ? {} : { account: by };
  return { kind: "listed", beganAt, items: [...items.values()], partial, ...whose };
}

/** Whether a failed call may have failed because a zone is out. */
function isOutage({ failure, status = 0 }: Failed): boolean {
  return failure.class === "temporary" && status >= 500;
}

interface ByZone {
  machines: Instance[];
  owner: string | undefined;
  partial: Gap;
}

/** What asking for the ids of one zone has shown. Null: an unknown zone. */
interface Asked {
  zone: string | null;
  machines: Instance[];
  owner: string | undefined;
  isRead: boolean;
}

/**
 * Asks for known machines by id, each zone by itself. Undefined: no call was answered. All zones are asked at
 * the same time, so that one which does not answer at all takes no time from the others.
 */
async function askByZone(
  asking: Asking,
  known: readonly KnownMachine[],
  zones: readonly string[],
  why: string,
): Promise<ByZone | undefined> {
  const byZone = new Map<string | null, string[]>();
  /** Zones with machines whose ids are not known: nothing can be asked for there. */
  const unread = new Set(zones);
  let isAnywhere = false;
  for (const { id, zone } of known) {
    if (id !== null) byZone.set(zone, [...(byZone.get(zone) ?? []), id]);
    else if (zone === null) isAnywhere = true;
  }
  const asked = await Promise.all([...byZone].map(([zone, ids]) => askZone(asking, zone, ids)));
  if (!asked.some(({ isRead, machines }) => isRead || machines.length > 0)) return undefined;
  for (const { zone, isRead } of asked) {
    if (zone === null) isAnywhere ||= !isRead;
    else if (isRead) unread.delete(zone);
    else unread.add(zone);
  }
  for (const { id, zone } of known) if (id === null && zone !== null) unread.add(zone);
  const partial: Gap = isAnywhere ? { why } : { why, zones: [...unread] };
  const owner = asked.find((one) => one.owner !== undefined)?.owner;
  return { machines: asked.flatMap(({ machines }) => machines), owner, partial };
}

/** Asks for the machines of one zone, or, if their zones are unknown, for each machine by itself. */
async function askZone(asking: Asking, zone: string | null, all: readonly string[]): Promise<Asked> {
  const ids = zone === null ? all.slice(0, MAX_SINGLES) : all;
  const asked: Asked = { zone, machines: [], owner: undefined, isRead: ids.length === all.length };
  const size = zone === null ? 1 : IDS_PER_CALL;
  for (let at = 0; at < ids.length; at += size) {
    const page = await askForIds(asking, ids.slice(at, at + size));
    if (page === undefined) {
      asked.isRead = false;
      if (zone !== null) break;
      continue;
    }
    asked.machines.push(...page.machines);
    asked.owner ??= page.owner;
    if (page.gap !== undefined) asked.isRead = false;
  }
  return asked;
}

/** Asks for machines by id. Ids that EC2 does not know are left out. Undefined: EC2 does not answer. */
async function askForIds(asking: Asking, ids: readonly string[]): Promise<Page | undefined> {
  let left = [...ids];
  for (let tries = 0; tries <= MAX_LEFT_OUT; tries += 1) {
    if (left.length === 0) return { machines: [], next: undefined, gap: undefined, owner: undefined };
    const page = await pageOf(asking, describeByIds(left));
    if (!("failure" in page)) return page;
    const { code, failure } = page;
    if (code === undefined || !UNKNOWN_ID.has(code)) return undefined;
    const known = left.filter((id) => !isNamed(id, failure.text));
    if (known.length === left.length) return undefined;
    left = known;
  }
  return undefined;
}

/** Whether a text names an id, and not a longer one that begins with it. */
function isNamed(id: string, text: string): boolean {
  const after = text.split(id).slice(1);
  return after.some((rest) => !/^\w/.test(rest));
}

/** Reads one page of `DescribeInstances`. */
async function pageOf(asking: Asking, form: Form): Promise<Page | Failed> {
  const called = await asking.call(form);
  if ("failure" in called) return called;
  const reservations = itemsAt(called.root, "reservationSet");
  if (reservations === undefined) {
    return { failure: unreadable(form.action, "it has no `reservationSet`").failure };
  }
  const read = reservations.map((reservation) => machinesIn(reservation, asking.veil));
  return {
    machines: read.flatMap(({ machines }) => machines),
    next: textAt(called.root, "nextToken"),
    gap: gapOf(read.flatMap(({ faults }) => faults)),
    owner: reservations.map((one) => textAt(one, "ownerId")).find((one) => one !== undefined),
  };
}

/**
 * The machines of a reservation, which is the answer to a create call or a part of a listing. A machine that
 * cannot be read is left out, and is a fault.
 */
export function machinesIn(reservation: XmlElement, veil: Veil): { machines: Instance[]; faults: string[] } {
  const machines: Instance[] = [];
  const faults: string[] = [];
  for (const item of itemsAt(reservation, "instancesSet") ?? []) {
    const read = machineIn(item, veil);
    if ("data" in read) machines.push(read.data);
    else
      faults.push(`machine ${veil(textAt(item, "instanceId") ?? "").slice(0, 64)} is invalid: ${read.fault}`);
  }
  return { machines, faults };
}

/**
 * Looks for a machine by its id, or else by the token with which it was made (clouds/ec2.md#finding). If a
 * token has several machines, a living one is found: the others show in listings.
 */
export async function findMachine(asking: Asking, { id, worker }: KnownMachine): Promise<FindAnswer> {
  if (id === null) return findByToken(asking, worker);
  const page = await pageOf(asking, describeByIds([id]));
  if ("failure" in page) {
    const isUnknown = page.code !== undefined && UNKNOWN_ID.has(page.code);
    return isUnknown ? { kind: "none" } : { kind: "unsure", text: page.failure.text };
  }
  const found = page.machines.find((machine) => machine.id === id);
  if (found !== undefined) return { kind: "found", instance: found };
  return page.gap === undefined ? { kind: "none" } : { kind: "unsure", text: page.gap };
}

async function findByToken(asking: Asking, token: string): Promise<FindAnswer> {
  const machines: Instance[] = [];
  let next: string | undefined;
  for (let pages = 0; pages < MAX_TOKEN_PAGES; pages += 1) {
    const page = await pageOf(asking, describeByFilter("client-token", token, next));
    if ("failure" in page) return { kind: "unsure", text: page.failure.text };
    if (page.gap !== undefined) return { kind: "unsure", text: page.gap };
    machines.push(...page.machines);
    next = page.next;
    if (next !== undefined) continue;
    const found = machines.find(({ state }) => state !== "terminated") ?? machines[0];
    return found === undefined ? { kind: "none" } : { kind: "found", instance: found };
  }
  return { kind: "unsure", text: `the answer has more than ${MAX_TOKEN_PAGES} pages` };
}
