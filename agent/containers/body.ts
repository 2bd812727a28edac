// What is the container of a task made of (containers.md#fields)?
import type { Container } from "../../src/schema/run/container.ts";
import type { TaskSpec } from "../../src/schema/run/run.ts";
import { sizeBytes } from "../../src/shared/size.ts";
import type { ContainerBody, ContainerMount, EngineFacts, HostConfig } from "../engine/types.ts";
import { MAX_ATTEMPT_PIDS } from "../exec/processes/groups.ts";

/** The value that stands for one whole processor (`CpuShares`). */
const SHARES_PER_CPU = 1_024;
/** Docker keeps the output of a container in one file of this size: nothing is dropped before it is read. */
const MOST_OUTPUT = "1024g";

/** What the agent has made ready for a container. */
export interface ContainerLaunch {
  /** The id of the image: its name may lead to another one by now. */
  image: string;
  argv: string[];
  env: Record<string, string>;
  /** The working directory; undefined: the image's. */
  dir: string | undefined;
  /** The directories that the container sees under the same names as the machine. */
  shared: string[];
  labels: Record<string, string>;
  /** `uid:gid` of the owner of the task's directory. */
  owner: string;
  /** Devices that the host has assigned to the task. */
  devices: Pick<HostConfig, "DeviceRequests" | "Devices">;
}

/** The body of the call that creates the container. Pure, so that tests can compare it as a whole. */
export function bodyOf(
  task: Pick<TaskSpec, "resources" | "memoryLimitBytes" | "stdin">,
  container: Container,
  launch: ContainerLaunch,
  engine: Pick<EngineFacts, "engine">,
): ContainerBody {
  const { entrypoint, workdir = launch.dir, hostname, user } = container;
  const takesInput = task.stdin !== undefined;
  return {
    Image: launch.image,
    ...(entrypoint === undefined ? {} : { Entrypoint: entrypoint }),
    ...(launch.argv.length === 0 ? {} : { Cmd: launch.argv }),
    Env: Object.entries(launch.env).map(([name, value]) => `${name}=${value}`),
    ...(user === undefined ? {} : { User: user === "task" ? launch.owner : user }),
    ...(workdir === undefined ? {} : { WorkingDir: workdir }),
    ...(hostname === undefined ? {} : { Hostname: hostname }),
    Labels: launch.labels,
    Tty: false,
    OpenStdin: takesInput,
    StdinOnce: takesInput,
    AttachStdin: takesInput,
    AttachStdout: false,
    AttachStderr: false,
    HostConfig: hostConfigOf(task, container, launch, engine),
  };
}

function hostConfigOf(
  { resources, memoryLimitBytes = resources.memoryBytes }: Pick<TaskSpec, "resources" | "memoryLimitBytes">,
  container: Container,
  { shared, devices: given }: ContainerLaunch,
  { engine }: Pick<EngineFacts, "engine">,
): HostConfig {
  const { network, init, shm, hosts, dns, ulimits, readOnly, privileged, groups } = container;
  const { addCapabilities, dropCapabilities, devices = [], tmpfs, mayGainPrivileges } = container;
  // A task that asks for no processor gets the share of an ordinary process.
  const cpus = resources.vcpus === 0 ? 1 : resources.vcpus;
  return {
    Mounts: [...shared.map((path) => bindOf(path, path, true)), ...bindsOf(container)],
    ...(tmpfs === undefined ? {} : { Tmpfs: tmpfsOf(tmpfs) }),
    // The namespace of cgroups is the container's own, so its programs see their limits.
    CgroupnsMode: "private",
    Init: init,
    NetworkMode: network,
    ...(hosts === undefined
      ? {}
      : { ExtraHosts: Object.entries(hosts).map(([name, ip]) => `${name}:${ip}`) }),
    ...(dns === undefined ? {} : { Dns: dns }),
    LogConfig: logConfigOf(engine),
    RestartPolicy: { Name: "no" },
    AutoRemove: false,
    ...(memoryLimitBytes === 0 ? {} : { Memory: memoryLimitBytes, MemorySwap: memoryLimitBytes }),
    CpuShares: Math.max(2, Math.round(cpus * SHARES_PER_CPU)),
    PidsLimit: MAX_ATTEMPT_PIDS,
    ...(shm === undefined ? {} : { ShmSize: sizeBytes(shm) }),
    ...(ulimits === undefined ? {} : { Ulimits: ulimitsOf(ulimits) }),
    ...(readOnly ? { ReadonlyRootfs: true } : {}),
    ...(privileged ? { Privileged: true } : {}),
    ...(addCapabilities === undefined ? {} : { CapAdd: addCapabilities }),
    ...(dropCapabilities === undefined ? {} : { CapDrop: dropCapabilities }),
    ...(mayGainPrivileges ? {} : { SecurityOpt: ["no-new-privileges"] }),
    ...(groups === undefined ? {} : { GroupAdd: groups }),
    ...given,
    ...(devices.length === 0 ? {} : { Devices: [...devices.map(deviceOf), ...(given.Devices ?? [])] }),
  };
}

function bindOf(source: string, target: string, isWritable: boolean): ContainerMount {
  // What the container mounts must not appear on the machine, where it could keep a directory busy.
  const options = { BindOptions: { Propagation: "rprivate" } };
  return { Type: "bind", Source: source, Target: target, ReadOnly: !isWritable, ...options };
}

function bindsOf({ binds = [] }: Container): ContainerMount[] {
  return binds.map(({ source, target, writable }) => bindOf(source, target, writable));
}

function tmpfsOf(tmpfs: NonNullable<Container["tmpfs"]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tmpfs).map(([path, size]) => [path, `rw,size=${sizeBytes(size)}`]),
  );
}

function ulimitsOf(ulimits: NonNullable<Container["ulimits"]>): NonNullable<HostConfig["Ulimits"]> {
  return Object.entries(ulimits).map(([Name, limit]) => {
    const { soft, hard } = typeof limit === "number" ? { soft: limit, hard: limit } : limit;
    return { Name, Soft: soft, Hard: hard };
  });
}

function deviceOf(path: string) {
  return { PathOnHost: path, PathInContainer: path, CgroupPermissions: "rwm" };
}

/** The log driver whose bytes come back as they were written (containers.md#output). */
export function logConfigOf(engine: EngineFacts["engine"]): NonNullable<HostConfig["LogConfig"]> {
  if (engine === "podman") return { Type: "k8s-file" };
  return { Type: "local", Config: { "max-size": MOST_OUTPUT, "max-file": "1", compress: "false" } };
}
