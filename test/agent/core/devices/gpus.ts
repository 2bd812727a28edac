import type { Device } from "../../../../agent/core/devices/device.ts";
import type { TaskSpec } from "../../../../src/schema/run/run.ts";
import { type Driven, idleHost } from "../drive.ts";

/** A device of NVIDIA. */
export function gpu(id: string, more: Partial<Device> = {}): Device {
  return { id, vendor: "nvidia", model: "T4", memoryBytes: 2 ** 34, driver: "550", healthy: true, ...more };
}

/** What a task needs that wants so many GPUs. */
export function needs(gpus: number, more: Partial<TaskSpec> = {}): Partial<TaskSpec> {
  return { resources: { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus }, ...more };
}

export function seen(...devices: Device[]) {
  return { type: "devices_seen", seen: { kind: "devices", devices } } as const;
}

export const NO_SOURCE = { type: "devices_seen", seen: { kind: "none" } } as const;

export function failing(fault = "it hangs") {
  return { type: "devices_seen", seen: { kind: "fault", fault } } as const;
}

/** An idle host that has these devices. */
export function hostWith(...devices: Device[]): Driven {
  return idleHost().tell(seen(...devices));
}
