// What does a host say of its devices, and what do readers see of them (devices.md#report)?
import { z } from "zod";
import { MAX_DEVICE_WORD_CHARS, MAX_DEVICES, MAX_TEXT_CHARS } from "../../shared/limits.ts";

const Word = z.string().max(MAX_DEVICE_WORD_CHARS);

/** A device of a host. */
export const HostDevice = z.object({
  id: Word.min(1),
  vendor: Word,
  model: Word,
  memoryBytes: z.int().min(0).describe("0: unknown"),
  driver: Word.describe("the version of its driver; empty: unknown"),
  healthy: z.boolean().describe("whether it can be used now"),
});
export type HostDevice = z.infer<typeof HostDevice>;

/** The devices of a host, as it sees them. */
export const HostDevices = z.object({
  list: z.array(HostDevice).max(MAX_DEVICES),
  fault: z.string().max(MAX_TEXT_CHARS).optional().describe("why it knows no devices, so that none is used"),
});
export type HostDevices = z.infer<typeof HostDevices>;

/** The ids of the devices that an attempt was given. */
export const DeviceIds = z.array(Word.min(1)).max(MAX_DEVICES);

/** A device of a machine as readers see it. */
export const WorkerDevice = HostDevice.extend({
  attempt: z.string().nullable().describe("the attempt that has it; null: it is free"),
}).meta({ id: "WorkerDevice" });
export type WorkerDevice = z.infer<typeof WorkerDevice>;
