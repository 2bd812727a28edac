// Which attempt has which devices, and which may be given away (devices.md#assignment)?
import type { StartError } from "../../../src/schema/host.ts";
import type { Instant } from "../../../src/shared/machine.ts";
import { mapAttempts } from "../attempts/attempt.ts";
import { mayBeInside } from "../attempts/hold.ts";
import type { AttemptState, HostState } from "../types.ts";
import type { Device } from "./device.ts";

/** The most holders that an error names. */
const MAX_HOLDERS_NAMED = 8;

/** Whether an attempt has its devices: something of it may use them. */
function hasDevices({ devices, freed }: AttemptState): boolean {
  return devices !== undefined && freed === undefined;
}

/**
 * Frees the devices of the attempts of which no process is left, and nothing is kept. Only this proof frees
 * them, and it outlives the agent (devices.md#freed).
 */
function withFreed(state: HostState): HostState {
  const attempts = mapAttempts(state, (one) =>
    hasDevices(one) && one.treeGone && !mayBeInside(one) ? { ...one, freed: true } : one,
  );
  return attempts === state.attempts ? state : { ...state, attempts };
}

/** The devices that are taken. */
export function heldDevices({ attempts }: Pick<HostState, "attempts">): Device[] {
  return Object.values(attempts).flatMap((one) =>
    Array.isArray(one.devices) && hasDevices(one) ? one.devices : [],
  );
}

/** The ids of the devices that are taken, with the attempt that has each. */
export function holders({ attempts }: Pick<HostState, "attempts">): Map<string, string> {
  const taken = new Map<string, string>();
  for (const attempt of Object.values(attempts)) {
    if (!Array.isArray(attempt.devices) || !hasDevices(attempt)) continue;
    for (const { id } of attempt.devices) taken.set(id, attempt.id);
  }
  return taken;
}

/** A device that two attempts have, both of which may use it; undefined: there is none. */
export function sharedDevice({ attempts }: Pick<HostState, "attempts">): string | undefined {
  const ids = heldDevices({ attempts }).map(({ id }) => id);
  return ids.find((id, index) => ids.indexOf(id) < index);
}

/** Whether the attempt waits for devices: it needs some, and has been given none. */
export function lacksDevices(attempt: AttemptState): boolean {
  return attempt.devices === undefined && (attempt.task?.resources.gpus ?? 0) > 0;
}

/**
 * Frees what can be freed, and gives devices to the attempts that can start now. Without a source of devices
 * an attempt may use any. While such an attempt lives nobody is given one, and the other way round: they
 * would share it.
 */
export function assignDevices(
  before: HostState,
  canStart: (state: HostState, attempt: AttemptState) => boolean,
  now: Instant,
): HostState {
  let state = withFreed(before);
  for (const attempt of Object.values(state.attempts)) {
    if (attempt.main !== "waiting" || attempt.stop !== undefined || !lacksDevices(attempt)) continue;
    if (!canStart(state, attempt)) continue;
    const changed = withDevices(state, attempt, now);
    if (changed !== attempt) state = { ...state, attempts: { ...state.attempts, [attempt.id]: changed } };
  }
  return state;
}

function withDevices(state: HostState, attempt: AttemptState, now: Instant): AttemptState {
  const { known } = state.devices;
  if (known === undefined) return attempt;
  const taken = holders(state);
  const others = Object.values(state.attempts).filter(hasDevices);
  // It may have been given any of them: nobody gets one until nothing of it is left (devices.md#restart).
  if (others.some(({ devices }) => devices === "unknown")) return attempt;
  if (known === "none") return taken.size === 0 ? { ...attempt, devices: "any" } : attempt;
  if (others.some(({ devices }) => devices === "any")) return attempt;
  const free = known.filter(({ id, healthy }) => healthy && !taken.has(id));
  const wanted = attempt.task?.resources.gpus ?? 0;
  if (free.length >= wanted) return { ...attempt, devices: free.slice(0, wanted) };
  const startError = tooFew(wanted, free.length, state, taken);
  return { ...attempt, main: "over", startError, endedAt: now };
}

/** Why an attempt gets no devices. Its control plane has counted others than this host. */
function tooFew(
  wanted: number,
  free: number,
  { devices: { known, fault } }: HostState,
  taken: Map<string, string>,
): StartError {
  const all: readonly Device[] = Array.isArray(known) ? known : [];
  const usable = all.filter(({ healthy }) => healthy).length;
  const held = [...taken].slice(0, MAX_HOLDERS_NAMED).map(([id, attempt]) => `${attempt} has ${id}`);
  const why = [
    ...(fault === undefined ? [] : [`its devices are not known: ${fault}`]),
    ...(all.length > usable ? [`${all.length - usable} of its GPUs cannot be used`] : []),
    ...held,
    ...(taken.size > held.length ? [`and ${taken.size - held.length} more are taken`] : []),
  ];
  const text = `The task needs ${count(wanted)}, and this machine has ${free} free of ${usable}`;
  const next = "Another attempt may find them free; `drover workers <id>` shows who has them.";
  return {
    code: "start_failed",
    text: `${text}${why.length === 0 ? "" : ` (${why.join("; ")})`}. ${next}`,
    recoverable: true,
  };
}

function count(gpus: number): string {
  return gpus === 1 ? "1 GPU" : `${gpus} GPUs`;
}
