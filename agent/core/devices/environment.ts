// Which variables tell a task what devices it has (devices.md#environment)?
import type { AttemptState, DevicesState } from "../types.ts";
import type { Device } from "./device.ts";

/** By vendor, in lower case: variables that take a list of ids, and what each says to a task without any. */
const VISIBLE = new Map<string, [name: string, none: string][]>([
  [
    "nvidia",
    [
      ["CUDA_VISIBLE_DEVICES", ""],
      ["NVIDIA_VISIBLE_DEVICES", "void"],
    ],
  ],
  ["amd", [["ROCR_VISIBLE_DEVICES", ""]]],
]);

/**
 * The variables of a task's devices. A task without devices, on a machine that has some, is told that it has
 * none, so that it takes no other task's by accident. On a machine without devices nothing is said.
 */
export function deviceVariables(
  { known }: Pick<DevicesState, "known">,
  { devices }: Pick<AttemptState, "devices">,
): Record<string, string> {
  if (devices === "any" || devices === "unknown") return {};
  const own = devices ?? [];
  const all = [...(Array.isArray(known) ? known : []), ...own];
  if (all.length === 0) return {};
  const variables: Record<string, string> = { ...joined(own), DROVER_DEVICES: idsOf(own) };
  for (const vendor of new Set(all.map(vendorOf))) {
    const ids = idsOf(own.filter((one) => vendorOf(one) === vendor));
    for (const [name, none] of VISIBLE.get(vendor) ?? []) variables[name] = ids || none;
  }
  return variables;
}

/** The plug-in's variables. A variable of several devices has all their values, with commas between them. */
function joined(devices: readonly Device[]): Record<string, string> {
  const values = new Map<string, string[]>();
  for (const { env = {} } of devices) {
    for (const [name, value] of Object.entries(env)) values.set(name, [...(values.get(name) ?? []), value]);
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, [...new Set(all)].join(",")]));
}

function vendorOf({ vendor }: Device): string {
  return vendor.toLowerCase();
}

function idsOf(devices: readonly Device[]): string {
  return devices.map(({ id }) => id).join(",");
}
