// How does Drover create, list, find and destroy machines of Fly?
import { z } from "zod";
import type { CreateAnswer, FindAnswer, ListAnswer, ProviderFailure } from "../../core/provider-answers.ts";
import type { FlyConfig } from "../../schema/pool/providers/clouds.ts";
import type { CreateInstance } from "../../schema/provider.ts";
import { TRAITS } from "../../shared/cloud/kinds.ts";
import { base64 } from "../base64.ts";
import { type Asking, askingOf, type JsonCalled, type JsonFailed } from "../json-api.ts";
import { asWorker, destroyBy, foundBy, type Looked, takenName } from "../named.ts";
import { gapOf } from "../pages.ts";
import { failing, type KnownMachine, type Provider } from "../provider.ts";
import { CODES, type Veil, veilOf } from "../veil.ts";
import { CALL_TIMEOUT_MS, checked, unreadable, withDeadline } from "../wire.ts";
import { apiOf } from "./api.ts";
import { guestOf, instanceOf, isReached, Machine } from "./machines.ts";
import { FLY_MAIN } from "./scripts.ts";

/** A token is sent in a header. Several tokens may stand in it, after the name of their scheme. */
const TOKEN = /^[ -~]{1,8192}$/;
/** Fly measures memory in steps of this many bytes. */
const MEMORY_STEP = 256 * 2 ** 20;
/** The most that Fly waits between SIGTERM and the end of a machine. `main.sh` counts on it. */
const STOP_TIMEOUT = "300s";
const DIR = "/drover";

/** An account as it is stored: its configuration, and the text of its credentials, which is a token. */
export interface FlyAccount {
  config: FlyConfig;
  credentials: string;
}

/** Machines of Fly, in one app (clouds/fly.md#calls). */
export function flyProvider(
  { config, credentials }: FlyAccount,
  now: () => number,
  timeoutMs = CALL_TIMEOUT_MS,
): Provider {
  const token = credentials.trim();
  if (!TOKEN.test(token)) return failing(NO_TOKEN);
  const api = apiOf(config, token, now);
  const within = <T>(work: (asking: Asking) => Promise<T>, hidden: readonly string[] = []): Promise<T> => {
    const veil = veilOf([...token.split(/[ ,]/), ...hidden]);
    return withDeadline(timeoutMs, (signal) => work(askingOf(api, veil, signal)));
  };
  return {
    create: (wanted) => within((asking) => create(asking, wanted), wanted.userData.match(CODES) ?? []),
    list: (tag, known) => within((asking) => list(asking, tag, known)),
    find: (machine) => within((asking) => find(asking, machine)),
    destroy: (machine) =>
      within((asking) =>
        destroyBy({ find: (one) => find(asking, one), destroy: (id) => end(asking, id), isUnknown }, machine),
      ),
  };
}

const NO_TOKEN: ProviderFailure = {
  class: "auth",
  text: "the credentials of the Fly app are no token: store what `fly tokens create deploy` prints",
  refused: true,
};

/**
 * Makes one machine, by one call (clouds/fly.md#create). Its name is the token: a name that is taken is
 * looked up, since the machine may be this worker's.
 */
async function create(asking: Asking, wanted: CreateInstance): Promise<CreateAnswer> {
  const fault = faultOf(wanted);
  if (fault !== undefined) return { kind: "failed", failure: fault };
  const { instanceType: type, zone } = wanted;
  const called = await asking.call({ method: "POST", path: "", body: machineFields(wanted), type, zone });
  if ("failure" in called) {
    const { code, message = "", failure } = called;
    const isTaken = code === "already_exists" || /unique machine name violation/i.test(message);
    return isTaken ? takenBy(asking, wanted, message) : { kind: "failed", failure };
  }
  const read = machineIn(called.body, asking.veil);
  return "fault" in read
    ? unreadable("POST /machines", read.fault)
    : { kind: "created", instance: instanceOf(read.data) };
}

/** Why Fly need not be asked at all. */
function faultOf({ instanceType, userData }: CreateInstance): ProviderFailure | undefined {
  if (guestOf(instanceType) === undefined) {
    const sizes = "`shared-cpu-1x` to `shared-cpu-8x`, `performance-1x` to `performance-16x`";
    const text = `Fly has no size ${instanceType}; set \`providerType\` to one of ${sizes}`;
    return { class: "invalid", text, refused: true, scope: "type" };
  }
  const bytes = new TextEncoder().encode(userData).length;
  const most = TRAITS.fly.maxUserDataBytes;
  if (bytes <= most) return undefined;
  const text = `the user data have ${bytes} bytes, and Drover gives ${most} to a machine of Fly`;
  return { class: "invalid", text, refused: true, scope: "all" };
}

/** The request for a machine, with its fields in a fixed order. */
export function machineFields(wanted: CreateInstance): object {
  const { name, zone, image, instanceType, resources, tags, userData } = wanted;
  const memoryMb = (Math.ceil(resources.memoryBytes / MEMORY_STEP) * MEMORY_STEP) / 2 ** 20;
  return {
    name,
    ...(zone === undefined ? {} : { region: zone }),
    config: {
      image,
      guest: { ...guestOf(instanceType), memory_mb: memoryMb },
      init: { exec: ["/bin/sh", `${DIR}/main`] },
      files: [
        { guest_path: `${DIR}/main`, raw_value: base64(FLY_MAIN) },
        { guest_path: `${DIR}/user-data`, raw_value: base64(userData) },
      ],
      metadata: tags,
      auto_destroy: true,
      restart: { policy: "no" },
      stop_config: { signal: "SIGTERM", timeout: STOP_TIMEOUT },
    },
  };
}

/** The machine whose name was taken: the text of the conflict may say its id. */
async function takenBy(asking: Asking, wanted: CreateInstance, text: string): Promise<CreateAnswer> {
  const id = /machine ID ([0-9a-f]{8,32})\b/i.exec(text)?.[1] ?? null;
  return takenName(await look(asking, { worker: wanted.name, id, zone: null }), wanted, "the app");
}

/**
 * One machine: by its id, or else by its name in the list. A 404 may be that of the app, so it counts only if
 * the app is there to be listed, without the machine (clouds/fly.md#finding).
 */
async function look(asking: Asking, { worker, id }: KnownMachine): Promise<Looked> {
  if (id === null) return inList(asking, ({ name }) => name === worker);
  const called = await asking.call({ method: "GET", path: `/${encodeURIComponent(id)}` });
  if ("failure" in called) {
    return called.status === 404 ? inList(asking, (machine) => machine.id === id) : called;
  }
  const read = machineIn(called.body, asking.veil);
  return "fault" in read ? unreadable("GET /machines", read.fault) : { instance: instanceOf(read.data) };
}

async function inList(asking: Asking, isWanted: (machine: Machine) => boolean): Promise<Looked> {
  const read = await machines(asking);
  if ("failure" in read) return read;
  const found = read.machines.find(isWanted);
  if (found === undefined && read.gap !== undefined) return unreadable("GET /machines", read.gap);
  return { instance: found === undefined ? undefined : instanceOf(found) };
}

/** Whether Fly may say that there is no such machine, rather than no such app. It is no proof of anything. */
function isUnknown({ status, message = "" }: JsonFailed): boolean {
  return status === 404 && !/\bapp\b/i.test(message);
}

async function machines(
  asking: Asking,
): Promise<{ machines: Machine[]; gap: string | undefined } | { failure: ProviderFailure }> {
  const called = await asking.call({ method: "GET", path: "" });
  if ("failure" in called) return called;
  const all = checked(z.array(z.unknown()), called.body, asking.veil);
  if ("fault" in all) return { failure: unreadable("GET /machines", all.fault).failure };
  const faults: string[] = [];
  const read = all.data.flatMap((item) => {
    const machine = checked(Machine, item, asking.veil);
    if ("data" in machine) return [machine.data];
    faults.push(`a machine in it is invalid: ${machine.fault}`);
    return [];
  });
  return { machines: read, gap: gapOf(faults) };
}

/**
 * The machines of the app with this tag (clouds/fly.md#listing). Fly hides the tags of a machine whose host
 * it cannot reach: such a machine is known by its name, and the listing is incomplete.
 */
async function list(asking: Asking, tag: string, known: readonly KnownMachine[]): Promise<ListAnswer> {
  const beganAt = asking.now();
  const read = await machines(asking);
  if ("failure" in read) return { kind: "failed", failure: read.failure };
  const colon = tag.indexOf(":");
  const [label, value] = [tag.slice(0, colon), tag.slice(colon + 1)];
  const workers = new Set(known.map(({ worker }) => worker));
  const items = read.machines.flatMap((machine) => {
    const instance = instanceOf(machine);
    if (instance.tags[label] === value) return [instance];
    const isKnown = !isReached(machine) && workers.has(machine.name);
    return isKnown ? [asWorker(instance, machine.name)] : [];
  });
  const unreached = read.machines.filter((machine) => !isReached(machine)).map(({ id }) => id);
  const faults = read.gap === undefined ? [] : [read.gap];
  if (unreached.length > 0) faults.push(`Fly cannot reach the hosts of ${unreached.length} machines`);
  const why = faults.join("; ");
  return { kind: "listed", beganAt, items, ...(why === "" ? {} : { partial: { why } }) };
}

/** One machine: by its id, or, as long as no answer has named it, by its name (clouds/fly.md#finding). */
async function find(asking: Asking, machine: KnownMachine): Promise<FindAnswer> {
  return foundBy(await look(asking, machine), machine);
}

function machineIn(body: unknown, veil: Veil) {
  return checked(Machine, body, veil);
}

/** Begins the end of one machine, also of one that runs. */
function end(asking: Asking, id: string): Promise<JsonCalled> {
  // The documents name the first parameter, and Fly's own client sends the second.
  const path = `/${encodeURIComponent(id)}?force=true&kill=true`;
  return asking.call({ method: "DELETE", path });
}
