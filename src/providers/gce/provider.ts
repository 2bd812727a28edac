// How does Drover create, list, find and destroy machines of Google Compute Engine?
import { z } from "zod";
import type {
  ConsoleAnswer,
  CreateAnswer,
  FindAnswer,
  ListAnswer,
  ProviderFailure,
} from "../../core/provider-answers.ts";
import type { GceConfig } from "../../schema/pool/providers/clouds.ts";
import type { CreateInstance, Instance } from "../../schema/provider.ts";
import { type Asking, askingOf, type JsonCalled, type JsonFailed } from "../json-api.ts";
import { destroyBy, foundBy, hasTags, type Looked, takenName, withoutRefusal } from "../named.ts";
import { gapOf, listPages, type ReadPage } from "../pages.ts";
import { CONSOLE_READ_BYTES, failing, type KnownMachine, type Provider, userDataFault } from "../provider.ts";
import { CODES, veilOf } from "../veil.ts";
import { CALL_TIMEOUT_MS, checked, unreadable, withDeadline } from "../wire.ts";
import { apiOf } from "./api.ts";
import { GceInstance, instanceOf } from "./instances.ts";
import { bearerOf, keyIn } from "./key.ts";
import { outcomeOf } from "./operations.ts";
import { insertFields, requestIdOf } from "./requests.ts";

const PAGE_SIZE = 500;
/** The id of a machine: `ZONE/NAME`. */
const ID = /^[a-z0-9-]+\/[a-z0-9-]+$/;
/** How soon a create is asked again that Google still works on. */
const WORKING_PAUSE_MS = 5_000;

const Warning = z.object({ code: z.string() }).optional().catch(undefined);
const Aggregated = z.object({
  items: z
    .record(z.string(), z.object({ instances: z.array(z.unknown()).optional(), warning: Warning }))
    .optional(),
  nextPageToken: z.string().min(1).optional(),
  unreachables: z.array(z.string()).optional().catch(undefined),
});

/** An account as it is stored: its configuration, and the text of its credentials. */
export interface GceAccount {
  config: GceConfig;
  credentials: string;
}

/** Machines of Compute Engine, in the zones of one project (clouds/gce.md#calls). */
export function gceProvider(
  { config, credentials }: GceAccount,
  now: () => number,
  timeoutMs = CALL_TIMEOUT_MS,
): Provider {
  const read = keyIn(credentials);
  if ("failure" in read) return failing(read.failure);
  const { key } = read;
  const within = <T>(
    work: (asking: Asking) => Promise<T>,
    hidden: readonly string[] = [],
  ): Promise<T | { kind: "failed"; failure: ProviderFailure }> =>
    withDeadline(timeoutMs, async (signal) => {
      const bearer = await bearerOf(key, now());
      if (bearer === undefined) return { kind: "failed", failure: NO_KEY };
      const veil = veilOf([bearer.slice("Bearer ".length), key.private_key, ...hidden]);
      return work(askingOf(apiOf(config, bearer, now), veil, signal));
    });
  return {
    create: (wanted) =>
      within((asking) => create(asking, config, wanted), wanted.userData.match(CODES) ?? []),
    list: (tag) => within((asking) => list(asking, tag)),
    async find(machine) {
      const answer = await within((asking) => find(asking, config, machine));
      return answer.kind === "failed" ? { kind: "unsure", text: answer.failure.text } : answer;
    },
    async destroy(machine) {
      if (machine.id !== null && !ID.test(machine.id)) return { kind: "asked", unknown: true };
      return within((asking) =>
        destroyBy(
          {
            find: (one) => find(asking, config, one),
            destroy: (id) => end(asking, id),
            isUnknown,
          },
          machine,
        ),
      );
    },
    console: ({ id }) => within((asking) => consoleOf(asking, id)),
  };
}

const NO_KEY: ProviderFailure = {
  class: "auth",
  text: "the `private_key` in the credentials of the Google account is no key that can sign",
  refused: true,
};

/**
 * Makes one machine, by one call and the wait for its operation (clouds/gce.md#create). Google recognizes a
 * repeated call by its request id, and answers it with the same operation.
 */
async function create(asking: Asking, config: GceConfig, wanted: CreateInstance): Promise<CreateAnswer> {
  const fault = userDataFault("gce", wanted.userData, "Google takes");
  if (fault !== undefined) return { kind: "failed", failure: fault };
  const { instanceType: type, zone = config.zones[0] ?? "", name, token } = wanted;
  const path = `/zones/${zone}/instances?requestId=${await requestIdOf(token)}`;
  const body = insertFields(config, wanted, zone);
  const called = await asking.call({ method: "POST", path, body, type, zone });
  if ("failure" in called) {
    const { code, failure } = called;
    const isTaken = code === "alreadyExists";
    return isTaken ? taken(asking, wanted, zone) : { kind: "failed", failure };
  }
  const outcome = await outcomeOf(asking, called.body, { type, zone });
  if ("kind" in outcome && outcome.kind === "goes on") {
    const text = `Google still works on ${name} in ${zone}`;
    return { kind: "pending", retryAfterMs: WORKING_PAUSE_MS, text };
  }
  if ("failure" in outcome) {
    if ("code" in outcome) await clearAway(asking, wanted, zone);
    return { kind: "failed", failure: outcome.failure };
  }
  const found = await get(asking, `${zone}/${name}`);
  if ("failure" in found) return { kind: "failed", failure: withoutRefusal(found.failure) };
  if (found.instance !== undefined) return { kind: "created", instance: found.instance };
  const text = `${name} was made in ${zone}, and no look shows it yet`;
  return { kind: "pending", retryAfterMs: WORKING_PAUSE_MS, text };
}

/** The machine whose name was taken: one of an operation that failed stays, stopped, and keeps it. */
async function taken(asking: Asking, wanted: CreateInstance, zone: string): Promise<CreateAnswer> {
  return takenName(await get(asking, `${zone}/${wanted.name}`), wanted, "the zone");
}

/** Ends what a failed operation may have left: a stopped machine, whose disk costs money (case 35). */
async function clearAway(asking: Asking, { name, tags }: CreateInstance, zone: string): Promise<void> {
  const found = await get(asking, `${zone}/${name}`);
  if ("failure" in found || found.instance === undefined) return;
  const { instance } = found;
  if (hasTags(instance, tags)) await end(asking, instance.id);
}

/** All machines with the label, in all zones at once. A zone that cannot be reached is a gap there alone. */
async function list(asking: Asking, tag: string): Promise<ListAnswer> {
  const beganAt = asking.now();
  const colon = tag.indexOf(":");
  const filter = encodeURIComponent(`labels.${tag.slice(0, colon)}=${tag.slice(colon + 1)}`);
  const query = `filter=${filter}&maxResults=${PAGE_SIZE}&returnPartialSuccess=true`;
  return listPages(async (cursor) => {
    const page = cursor === undefined ? "" : `&pageToken=${encodeURIComponent(cursor)}`;
    return readPage(asking, `/aggregated/instances?${query}${page}`);
  }, beganAt);
}

async function readPage(asking: Asking, path: string): Promise<ReadPage | { failure: ProviderFailure }> {
  const called = await asking.call({ method: "GET", path });
  if ("failure" in called) return called;
  const page = checked(Aggregated, called.body, asking.veil);
  if ("fault" in page) return { failure: unreadable("aggregated/instances", page.fault).failure };
  const { items: zones = {}, nextPageToken: next, unreachables = [] } = page.data;
  const faults: string[] = [];
  const unread = new Set(unreachables.map(zoneIn));
  const items = Object.entries(zones).flatMap(([scope, { instances = [], warning }]) => {
    if (warning !== undefined && warning.code !== "NO_RESULTS_ON_PAGE") unread.add(zoneIn(scope));
    return instances.flatMap((item) => readInstance(asking, item, faults));
  });
  const gap = gapOf(faults);
  const read = { items, complete: true, next: next ?? null };
  if (gap !== undefined) return { ...read, gap };
  if (unread.size === 0) return read;
  const gapZones = [...unread].sort();
  return { ...read, gap: `Google cannot reach ${gapZones.join(", ")}`, gapZones };
}

function zoneIn(scope: string): string {
  return scope.slice(scope.lastIndexOf("/") + 1);
}

function readInstance({ veil }: Asking, item: unknown, faults: string[]): Instance[] {
  const read = checked(GceInstance, item, veil);
  if ("data" in read) return [instanceOf(read.data)];
  faults.push(`a machine in it is invalid: ${read.fault}`);
  return [];
}

/** One machine: by its id, or by its name where it was asked for (clouds/gce.md#finding). */
async function find(asking: Asking, { zones }: GceConfig, machine: KnownMachine): Promise<FindAnswer> {
  const { id, worker, zone } = machine;
  if (id !== null) return foundBy(await get(asking, id), machine);
  for (const place of zone === null ? zones : [zone]) {
    const found = foundBy(await get(asking, `${place}/${worker}`), machine);
    if (found.kind !== "none") return found;
  }
  return { kind: "none" };
}

/** A machine by its id, `ZONE/NAME`. */
async function get(asking: Asking, id: string): Promise<Looked> {
  if (!ID.test(id)) return { instance: undefined };
  const called = await asking.call({ method: "GET", path: pathOf(id) });
  if ("failure" in called) return isUnknown(called) ? { instance: undefined } : called;
  const read = checked(GceInstance, called.body, asking.veil);
  return "fault" in read ? unreadable("GET instances", read.fault) : { instance: instanceOf(read.data) };
}

const SerialPort = z.object({
  contents: z.string().default(""),
  /** The place of the first byte of `contents` in all that was written. An int64, so a text. */
  start: z.coerce.number().int().min(0).catch(0),
});

/** What the machine has written to its first serial port, which is its console (clouds/gce.md#console). */
async function consoleOf(asking: Asking, id: string): Promise<ConsoleAnswer> {
  const unknown = { kind: "none", text: `Google has no machine ${id}` } as const;
  if (!ID.test(id)) return unknown;
  const path = `${pathOf(id)}/serialPort?port=1&start=-${CONSOLE_READ_BYTES}`;
  const called = await asking.call({ method: "GET", path });
  if ("failure" in called) return isUnknown(called) ? unknown : { kind: "failed", failure: called.failure };
  const read = checked(SerialPort, called.body, asking.veil);
  if ("fault" in read) return unreadable("GET serialPort", read.fault);
  const { contents: text, start } = read.data;
  if (text === "") return { kind: "none", text: `the console of ${id} has shown nothing yet` };
  return { kind: "console", text, isCut: start > 0, updatedAt: null };
}

function pathOf(id: string): string {
  const [zone = "", name = ""] = id.split("/");
  return `/zones/${encodeURIComponent(zone)}/instances/${encodeURIComponent(name)}`;
}

/** Whether Google says that there is no such machine. That there is no such project is another thing. */
function isUnknown({ status, code, message = "" }: JsonFailed): boolean {
  return status === 404 && code === "notFound" && /\/instances\//.test(message);
}

/** Begins the end of one machine. */
function end(asking: Asking, id: string): Promise<JsonCalled> {
  return asking.call({ method: "DELETE", path: pathOf(id) });
}
