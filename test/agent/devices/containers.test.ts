import { describe, expect, test } from "vitest";
import type { Device } from "../../../agent/core/devices/device.ts";
import { containerDevices } from "../../../agent/devices/container-devices.ts";
import { gpu } from "../core/devices/gpus.ts";

const NVIDIA = [gpu("GPU-1", { cdi: "nvidia.com/gpu=0" }), gpu("GPU-2", { cdi: "nvidia.com/gpu=1" })];
const AMD = gpu("GPU-a", { vendor: "amd", cdi: "amd.com/gpu=0", paths: ["/dev/dri/card0"] });
const BARE = gpu("x0", { vendor: "acme", paths: ["/dev/acmectl", "/dev/acme0"] });
const BARE_TOO = gpu("x1", { vendor: "acme", paths: ["/dev/acmectl", "/dev/acme1"] });
const NAMELESS = gpu("y0", { vendor: "acme" });

const request = { Driver: "nvidia", DeviceIDs: ["GPU-1", "GPU-2"], Capabilities: [["gpu"]] };
const file = (path: string) => ({ PathOnHost: path, PathInContainer: path, CgroupPermissions: "rwm" });
const FILES = ["/dev/acmectl", "/dev/acme0", "/dev/acme1"];

// devices.md#containers
describe("a container gets the devices of its attempt", () => {
  test.each<[string, "docker" | "podman", Device[], object]>([
    ["none", "docker", [], {}],
    ["NVIDIA's by their UUIDs", "docker", NVIDIA, { DeviceRequests: [request] }],
    [
      "NVIDIA's by their CDI names",
      "podman",
      NVIDIA,
      { DeviceRequests: [{ Driver: "cdi", DeviceIDs: ["nvidia.com/gpu=0", "nvidia.com/gpu=1"] }] },
    ],
    [
      "others by their CDI names, rather than by their files",
      "docker",
      [AMD],
      { DeviceRequests: [{ Driver: "cdi", DeviceIDs: ["amd.com/gpu=0"] }] },
    ],
    [
      "those without a name by their files, each once",
      "podman",
      [BARE, BARE_TOO],
      { Devices: FILES.map(file) },
    ],
    ["one that has neither by its variables alone", "podman", [NAMELESS], {}],
  ])("%s (%s)", (_, engine, devices, hostConfig) => {
    expect(containerDevices(devices, engine)).toEqual(hostConfig);
  });
});
