// Which devices does this machine have at present (devices.md#looks)?
import type { Report } from "../../../src/schema/host.ts";
import { MAX_DEVICES, MAX_TEXT_CHARS } from "../../../src/shared/limits.ts";
import type { Instant, Millis } from "../../../src/shared/machine.ts";
import type { HostMessage } from "../messages.ts";
import { FAULT_LASTS_MS, INSPECT_EVERY_MS } from "../reports/fitness.ts";
import { reportFully } from "../reports/socket.ts";
import type { DevicesState, HostState } from "../types.ts";
import { heldDevices } from "./assign.ts";
import type { Device, Seen } from "./device.ts";

/** How often the host looks at its devices: as often as at the rest of its machine. */
export const LOOK_EVERY_MS: Millis = INSPECT_EVERY_MS;

/**
 * Applies the result of a look. A fault counts once it has lasted, like any other fault of the machine,
 * because a tool that is busy for a moment says nothing about the devices. It counts at once if no devices
 * are known. A host that has known devices never counts as one without a source of devices again.
 */
export function devicesSeen(state: HostState, seen: Seen, now: Instant): HostState {
  const before = state.devices;
  const rest = { running: false, nextAt: now + LOOK_EVERY_MS };
  const devices: DevicesState = { ...rest, ...knownAfter(before, seen, now) };
  const next = { ...state, devices };
  return saidOf(devices) === saidOf(before) ? next : reportFully(next, now);
}

type Known = Omit<DevicesState, "running" | "nextAt">;

function knownAfter({ known, fault, since }: DevicesState, seen: Seen, now: Instant): Known {
  switch (seen.kind) {
    case "devices":
      return { known: seen.devices };
    case "none":
      if (!Array.isArray(known)) return { known: "none" };
      return knownAfter({ running: false, known, fault, since }, { kind: "fault", fault: GONE }, now);
    case "fault": {
      const text = (fault ?? seen.fault).slice(0, MAX_TEXT_CHARS);
      if (!Array.isArray(known) || known.length === 0) return { known: [], fault: text, since: since ?? now };
      if (now - (since ?? now) < FAULT_LASTS_MS) return { known, since: since ?? now };
      return { known: [], fault: seen.fault.slice(0, MAX_TEXT_CHARS), since: since ?? now };
    }
  }
}

const GONE = "nothing on this machine names its devices any more: neither a plug-in nor nvidia-smi is there";

/** What reports say of the devices, as a text. */
function saidOf({ known, fault }: DevicesState): string {
  return JSON.stringify([known, fault]);
}

/** How many devices can be used, whoever has them now. Undefined: nothing here names devices. */
export function usableDevices({ devices: { known } }: Pick<HostState, "devices">): number | undefined {
  return Array.isArray(known) ? known.filter(({ healthy }) => healthy).length : undefined;
}

/** The devices in a full report. Nothing is said before the first look, or without a source of devices. */
export function devicesReport(state: HostState): Pick<Report, "devices"> {
  const { known, fault } = state.devices;
  if (!Array.isArray(known)) return {};
  const vanished = heldDevices(state).filter(({ id }) => !known.some((one) => one.id === id));
  const all = [...known, ...vanished.map((one) => ({ ...one, healthy: false }))].slice(0, MAX_DEVICES);
  return { devices: { list: all.map(shown), ...(fault === undefined ? {} : { fault }) } };
}

function shown({ id, vendor, model, memoryBytes, driver, healthy }: Device) {
  return { id, vendor, model, memoryBytes, driver, healthy };
}

/** The look, if it is due. */
export function dueDevices({ devices, ending }: HostState): HostMessage[] {
  return devices.running && ending === undefined ? [{ to: "devices", kind: "look_at_devices" }] : [];
}
