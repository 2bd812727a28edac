// What does the agent ask of a container engine, and what does it learn from it?

/** What the agent knows of an engine (engine.md#open). */
export interface EngineFacts {
  /** Which program answers: `other` speaks the API, but says neither name. */
  engine: "docker" | "podman" | "other";
  version: string;
  /** The version of the API that both sides use from now on. */
  api: string;
  cgroupDriver: "cgroupfs" | "systemd" | "none";
  cgroupVersion: 1 | 2;
  rootless: boolean;
  /** Root in a container is another user outside, for all containers. */
  usernsRemap: boolean;
  /** Docker Desktop: the containers run in a virtual machine. */
  desktop: boolean;
  /**
   * The release of the kernel that the containers run on: another one than the agent's is another machine's.
   */
  kernel: string;
  osType: string;
  /** In the words of images: `amd64`, `arm64`. */
  arch: string;
  /** Whether `HostConfig.Init` has a program to put there. `undefined`: the engine does not say. */
  init: boolean | undefined;
  /** Whether containers outlive a restart of the engine. */
  liveRestore: boolean;
  /** Where images and containers are on the disk of this machine. */
  rootDir: string;
  logDrivers: readonly string[];
  /** What the engine itself complains of. */
  warnings: readonly string[];
}

/** A piece of what a container has written. */
export interface Frame {
  stream: "stdout" | "stderr";
  data: Buffer;
}

/** A bind or a tmpfs in a container. */
export interface ContainerMount {
  Type: "bind" | "tmpfs" | "volume";
  Source?: string;
  Target: string;
  ReadOnly?: boolean;
  BindOptions?: { Propagation?: string; CreateMountpoint?: boolean };
  TmpfsOptions?: { SizeBytes?: number; Mode?: number };
}

/** The part of a container's configuration that is about the machine, in the names of the API. */
export interface HostConfig {
  Binds?: string[];
  Mounts?: ContainerMount[];
  Tmpfs?: Record<string, string>;
  CgroupParent?: string;
  CgroupnsMode?: "host" | "private" | "";
  Init?: boolean;
  NetworkMode?: string;
  ExtraHosts?: string[];
  Dns?: string[];
  LogConfig?: { Type: string; Config?: Record<string, string> };
  RestartPolicy?: { Name: "no"; MaximumRetryCount?: number };
  AutoRemove?: boolean;
  Memory?: number;
  MemorySwap?: number;
  MemoryReservation?: number;
  CpuShares?: number;
  CpuQuota?: number;
  CpuPeriod?: number;
  NanoCpus?: number;
  PidsLimit?: number;
  ShmSize?: number;
  Ulimits?: { Name: string; Soft: number; Hard: number }[];
  OomScoreAdj?: number;
  ReadonlyRootfs?: boolean;
  Privileged?: boolean;
  CapAdd?: string[];
  CapDrop?: string[];
  SecurityOpt?: string[];
  GroupAdd?: string[];
  PidMode?: string;
  IpcMode?: string;
  UsernsMode?: string;
  Devices?: { PathOnHost: string; PathInContainer: string; CgroupPermissions: string }[];
  DeviceRequests?: { Driver?: string; Count?: number; DeviceIDs?: string[]; Capabilities?: string[][] }[];
  Runtime?: string;
}

/** What a container is made of, in the names of the API. */
export interface ContainerBody {
  Image: string;
  Entrypoint?: string[];
  Cmd?: string[];
  Env?: string[];
  User?: string;
  WorkingDir?: string;
  Hostname?: string;
  Labels?: Record<string, string>;
  Tty?: boolean;
  OpenStdin?: boolean;
  StdinOnce?: boolean;
  AttachStdin?: boolean;
  AttachStdout?: boolean;
  AttachStderr?: boolean;
  StopSignal?: string;
  HostConfig?: HostConfig;
}

/** What a container is doing. Podman's own words are put into Docker's, what neither says is `unknown`. */
export type ContainerStatus =
  | "created"
  /** Of podman: made by its runtime, and perhaps begun. */
  | "starting"
  | "running"
  | "paused"
  | "restarting"
  | "removing"
  | "exited"
  | "dead"
  | "unknown";

/** The state of a container, as the engine tells it. */
export interface ContainerState {
  status: ContainerStatus;
  running: boolean;
  /** 0: no process. */
  pid: number;
  exitCode: number;
  /** Podman leaves this `false` also after an OOM kill: the cgroup's counters say more. */
  oomKilled: boolean;
  /** ISO 8601; undefined: it has not started. */
  startedAt: string | undefined;
  finishedAt: string | undefined;
  /** What the engine says of a start that failed; empty: nothing. */
  error: string;
}

/** What the engine tells of one container. */
export interface ContainerFacts {
  id: string;
  /** Without the leading slash. */
  name: string;
  labels: Readonly<Record<string, string>>;
  createdAt: string;
  state: ContainerState;
  imageId: string;
  /** As it was asked for. */
  image: string;
  tty: boolean;
  openStdin: boolean;
  cgroupParent: string;
  networkMode: string;
  /** Its address in its network; empty: it has none of its own, or does not run. */
  address: string;
  logDriver: string;
  /** Where the engine keeps the output; empty: it does not say. */
  logPath: string;
}

/** A row of the engine's list of containers. */
export interface ListedContainer {
  id: string;
  /** Without the leading slash. */
  name: string;
  labels: Readonly<Record<string, string>>;
  imageId: string;
  status: ContainerStatus;
  /** Milliseconds since 1970. */
  createdAtMs: number;
}

/** What the engine tells of one image. */
export interface ImageFacts {
  /** `sha256:` and 64 digits. */
  id: string;
  repoTags: readonly string[];
  /** `name@sha256:…`, one for each registry that it came from; empty: it was built or imported here. */
  repoDigests: readonly string[];
  architecture: string;
  os: string;
  sizeBytes: number;
  config: {
    entrypoint: readonly string[];
    cmd: readonly string[];
    env: readonly string[];
    user: string;
    workingDir: string;
    stopSignal: string;
  };
}

/** A row of the engine's list of images. */
export interface ListedImage {
  id: string;
  repoTags: readonly string[];
  repoDigests: readonly string[];
  sizeBytes: number;
  /** Milliseconds since 1970. */
  createdAtMs: number;
}

/** Who the agent is at a registry. */
export type RegistryAuth =
  | { username: string; password: string; serverAddress?: string }
  | { identityToken: string; serverAddress?: string }
  | { registryToken: string; serverAddress?: string };

/** What runs beside a container's main process, in the names of the API. */
export interface ExecBody {
  Cmd: string[];
  Env?: string[];
  User?: string;
  WorkingDir?: string;
  Tty?: boolean;
  AttachStdin?: boolean;
  AttachStdout?: boolean;
  AttachStderr?: boolean;
  Privileged?: boolean;
}

/** What the engine tells of an exec. */
export interface ExecFacts {
  running: boolean;
  /** `undefined`: it has not ended. */
  exitCode: number | undefined;
  /** 0: the engine does not say. */
  pid: number;
}
