// May the containers of a run have what they need in this pool (containers.md#allowed)?
import type { AllowedContainers, ContainerNeeds } from "../../../schema/run/container.ts";

const NOTHING: AllowedContainers = {
  binds: [],
  devices: [],
  capabilities: [],
  privileged: false,
  hostNetwork: false,
  gainPrivileges: false,
};

/**
 * Why the pool refuses what a run's containers need, with the setting that would allow it. Null: it allows
 * all of it.
 */
export function refusalOfContainers(
  needs: ContainerNeeds,
  { binds, devices, capabilities, privileged, hostNetwork, gainPrivileges } = NOTHING,
): string | null {
  const refuse = (what: string, setting: string) =>
    `${what}, which this pool does not allow: leave that out, or set ` +
    `\`allowContainers.${setting}\` of the pool`;
  if (needs.privileged && !privileged)
    return refuse("a container is `privileged`, so nothing walls it off from the machine", "privileged");
  if (needs.hostNetwork && !hostNetwork)
    return refuse("a container uses the network of the machine", "hostNetwork");
  if (needs.mayGainPrivileges && !gainPrivileges)
    return refuse("a container may gain privileges", "gainPrivileges");
  const bind = needs.binds?.find((path) => !binds.some((allowed) => covers(allowed, path)));
  if (bind !== undefined) return refuse(`a container mounts ${bind}`, "binds");
  const device = needs.devices?.find((path) => !devices.some((allowed) => plain(allowed) === plain(path)));
  if (device !== undefined) return refuse(`a container uses the device ${device}`, "devices");
  const isAllowed = (name: string) => capabilities.includes("ALL") || capabilities.includes(name);
  const capability = needs.capabilities?.find((name) => !isAllowed(name));
  if (capability !== undefined)
    return refuse(`a container adds the capability ${capability}`, "capabilities");
  return null;
}

/** The names of sockets by which engines are commanded: whoever has one has the machine. */
const ENGINE_SOCKETS = ["docker.sock", "podman.sock", "containerd.sock", "crio.sock"];

/** Directories in which such sockets are, and those above them. */
const ENGINE_PLACES = [
  "/var",
  ...["/run", "/var/run"].flatMap((run) => [
    run,
    ...["podman", "containerd", "crio"].map((of) => `${run}/${of}`),
  ]),
];

/**
 * Whether an allowed path is this one or above it. An engine's socket, and a directory that holds one, must
 * be allowed by itself.
 */
function covers(allowed: string, path: string): boolean {
  const [above, wanted] = [plain(allowed), plain(path)];
  if (above === wanted) return true;
  const name = wanted.slice(wanted.lastIndexOf("/") + 1);
  const isEngine = ENGINE_SOCKETS.includes(name) || ENGINE_PLACES.includes(wanted);
  return wanted.startsWith(`${above}/`) && !isEngine;
}

/** A path without doubled slashes, `.` and a slash at its end. */
function plain(path: string): string {
  return `/${path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/")}`;
}
