// What is a device of this machine, and how much may be said of devices (devices.md#what)?

/** The most variables, and the most paths, of one device. */
export const MAX_PARTS = 16;
/** The longest value of a variable, path or CDI name of a device, in characters. */
export const MAX_VALUE_CHARS = 512;

/** One GPU of this machine (devices.md#what). */
export interface Device {
  /** Identifies it on this machine, also after a reboot: for NVIDIA its UUID. */
  id: string;
  vendor: string;
  model: string;
  /** Its memory as the driver says. 0: unknown. */
  memoryBytes: number;
  /** The version of its driver; empty: unknown. */
  driver: string;
  /** It can be used now. */
  healthy: boolean;
  /** Variables that a task needs to find it. */
  env?: Record<string, string>;
  /** Its name in the Container Device Interface, such as `nvidia.com/gpu=0`. */
  cdi?: string;
  /** Its device files. */
  paths?: string[];
}

/**
 * The result of a look at the devices. `none`: this machine has nothing that could name devices. `fault`: why
 * they are not known.
 */
export type Seen =
  | { kind: "none" }
  | { kind: "devices"; devices: Device[] }
  | { kind: "fault"; fault: string };

/** A look that has failed. */
export function faultOf(fault: string): Seen {
  return { kind: "fault", fault };
}
