// How does a container get the devices of its attempt (devices.md#containers)?
import type { Device } from "../core/devices/device.ts";

/** Which engine runs the container. */
export type ContainerEngine = "docker" | "podman";

/** A request for devices, as the Engine API has it in `HostConfig.DeviceRequests`. */
export interface DeviceRequest {
  Driver: string;
  DeviceIDs: string[];
  Capabilities?: string[][];
}

/** A device file, as the Engine API has it in `HostConfig.Devices`. */
export interface DeviceMapping {
  PathOnHost: string;
  PathInContainer: string;
  CgroupPermissions: string;
}

/** The part of `HostConfig` by which a container has its devices, and no others. */
export interface ContainerDevices {
  DeviceRequests?: DeviceRequest[];
  Devices?: DeviceMapping[];
}

/** Docker's driver for GPUs of NVIDIA, which knows them by UUID, and its driver for CDI names. */
const NVIDIA_DRIVER = "nvidia";
const CDI_DRIVER = "cdi";
/** Read, write, and make nodes: what a device gets by default. */
const ALL_RIGHTS = "rwm";

/**
 * The devices of an attempt for a container. Docker has a driver for NVIDIA, which needs no specification of
 * CDI; everything else goes by its CDI name, or else by its device files. A device that has neither is only
 * named by its variables.
 */
export function containerDevices(devices: readonly Device[], engine: ContainerEngine): ContainerDevices {
  const byDriver = engine === "docker" ? devices.filter(isNvidia) : [];
  const others = devices.filter((device) => !byDriver.includes(device));
  const names = others.flatMap(({ cdi }) => cdi ?? []);
  const paths = [...new Set(others.flatMap(({ cdi, paths = [] }) => (cdi === undefined ? paths : [])))];
  const requests: DeviceRequest[] = [];
  if (byDriver.length > 0) {
    const DeviceIDs = byDriver.map(({ id }) => id);
    requests.push({ Driver: NVIDIA_DRIVER, DeviceIDs, Capabilities: [["gpu"]] });
  }
  if (names.length > 0) requests.push({ Driver: CDI_DRIVER, DeviceIDs: names });
  return {
    ...(requests.length === 0 ? {} : { DeviceRequests: requests }),
    ...(paths.length === 0 ? {} : { Devices: paths.map(mappingOf) }),
  };
}

function isNvidia({ vendor }: Device): boolean {
  return vendor.toLowerCase() === NVIDIA_DRIVER;
}

function mappingOf(path: string): DeviceMapping {
  return { PathOnHost: path, PathInContainer: path, CgroupPermissions: ALL_RIGHTS };
}
