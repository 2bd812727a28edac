// What may a task say about the container that it runs in (containers.md#fields)?
import { z } from "zod";
import { ProcessText, Size } from "../common.ts";
import { SecretName } from "./secret-name.ts";

const MAX_LIST = 64;

const AbsolutePath = ProcessText.max(4_096).refine(
  (path) => path.startsWith("/") && !path.split("/").includes(".."),
  "must be an absolute path without `..`",
);

/** Engines separate the fields of a mount with colons. */
const MountPath = AbsolutePath.refine(
  (path) => !path.includes(":"),
  "must not contain a colon, which separates the fields of a mount: use a path without one",
);
const isBelowRoot = (path: string) => path.split("/").some((part) => part !== "" && part !== ".");

/** A path of the machine. */
const HostPath = MountPath.refine(
  isBelowRoot,
  "must not be `/`, which is the whole machine: name the directory that the task needs",
);

/** Where a container sees what is mounted. */
const TargetPath = MountPath.refine(
  isBelowRoot,
  "must not be `/`, which is where the image is: name a directory below it",
);

const REGISTRY = "[a-z0-9]+(?:[.-]+[a-z0-9]+)*(?::[0-9]{1,5})?";
const REPOSITORY = "[a-z0-9]+(?:(?:\\.|_{1,2}|-+)[a-z0-9]+)*";
const VERSION = "(?::\\w[\\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?";

/** The name of an image: a registry, a repository, and a tag or a digest. */
export const ImageName = z
  .string()
  .max(512)
  .regex(
    new RegExp(`^(?:${REGISTRY}/)?${REPOSITORY}(?:/${REPOSITORY})*${VERSION}$`),
    "must be the name of an image in lower case, such as `node:24` or `ghcr.io/team/tool@sha256:…`",
  );

/** A directory or a file of the machine that a container sees (containers.md#binds). */
export const Bind = z
  .strictObject({
    source: HostPath.describe("where it is on the machine; the pool must allow it"),
    target: TargetPath.describe("where the container sees it"),
    writable: z.boolean().default(false),
  })
  .meta({ id: "Bind" });

const CAPABILITY_TEXT = "must be a capability without `CAP_`, such as `NET_ADMIN`, or `ALL`";
const Capability = z
  .string()
  .regex(/^[A-Z][A-Z_]{1,40}$/, CAPABILITY_TEXT)
  .refine((name) => !name.startsWith("CAP_"), CAPABILITY_TEXT);

const UlimitValue = z.int().min(-1);

/** A limit of the kernel for each process: one number, or a soft and a hard one. -1: none. */
const UlimitPair = z.strictObject({ soft: UlimitValue, hard: UlimitValue }).meta({ id: "Ulimit" });

const IpAddress = z
  .string()
  .max(45)
  .refine(
    (text) => z.ipv4().safeParse(text).success || z.ipv6().safeParse(text).success,
    "must be an IPv4 or IPv6 address, such as `10.0.0.2`",
  );

/** When the image of a container is pulled. */
export const ImagePull = z.enum(["missing", "always", "never"]).meta({ id: "ImagePull" });

/** The network of a container. */
export const ContainerNetwork = z.enum(["bridge", "host", "none"]).meta({ id: "ContainerNetwork" });

/** The container of a task (containers.md#fields). What is absent is as the image says. */
export const Container = z
  .strictObject({
    image: ImageName,
    pull: ImagePull.default("missing").describe(
      "when the image is pulled: if the machine lacks it, before each start, or never",
    ),
    auth: SecretName.optional().describe(
      "the name of a secret with the credentials for the registry, as `user:password`",
    ),
    entrypoint: z.array(ProcessText).max(MAX_LIST).optional().describe("takes the place of the image's"),
    workdir: AbsolutePath.optional().describe("a directory in the container; absent: the task's directory"),
    user: ProcessText.min(1)
      .max(64)
      .optional()
      .describe("a user of the image, or `task` for the owner of the task's directory"),
    groups: z.array(ProcessText.min(1).max(64)).max(MAX_LIST).optional().describe("more groups of the user"),
    hostname: z
      .string()
      .regex(/^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/, "must be a host name without dots")
      .optional(),
    hosts: z
      .record(
        z
          .string()
          .regex(/^[A-Za-z0-9.-]{1,253}$/, "must be the name of a host: letters, digits, `.` and `-`"),
        IpAddress,
      )
      .optional()
      .describe("more names of hosts, with their addresses"),
    dns: z.array(IpAddress).max(8).optional().describe("name servers, by their addresses"),
    network: ContainerNetwork.default("bridge").describe(
      "`host` is the machine's own network, which the pool must allow",
    ),
    binds: z.array(Bind).max(MAX_LIST).optional(),
    tmpfs: z
      .record(TargetPath, Size)
      .optional()
      .describe("file systems in memory: where the container sees them, and their sizes"),
    shm: Size.optional().describe("the size of `/dev/shm`; 64MiB if absent"),
    ulimits: z
      .record(
        z.string().regex(/^[a-z]{2,16}$/, "must be the name of a limit, such as `nofile`"),
        z.union([UlimitValue, UlimitPair], 'must be a number, or {"soft": …, "hard": …}'),
      )
      .optional(),
    init: z
      .boolean()
      .default(true)
      .describe("a small first process passes signals on and reaps children; without it many ignore SIGTERM"),
    readOnly: z.boolean().optional().describe("whether the image's files cannot be changed"),
    privileged: z.boolean().optional().describe("no wall to the machine: the pool must allow it"),
    addCapabilities: z.array(Capability).max(MAX_LIST).optional(),
    dropCapabilities: z.array(Capability).max(MAX_LIST).optional(),
    devices: z
      .array(HostPath.refine((path) => path.startsWith("/dev/"), "must be below /dev"))
      .max(MAX_LIST)
      .optional()
      .describe("devices of the machine, which the pool must allow"),
    mayGainPrivileges: z
      .boolean()
      .optional()
      .describe("whether programs such as `sudo` can raise their rights in the container"),
  })
  .meta({ id: "Container", example: { image: "node:24" } });
export type Container = z.output<typeof Container>;

/** What the containers of a run need that only some pools allow (containers.md#allowed). Absent: nothing. */
export interface ContainerNeeds {
  binds?: string[];
  devices?: string[];
  capabilities?: string[];
  privileged?: true;
  hostNetwork?: true;
  mayGainPrivileges?: true;
}

/** What the containers of a pool's runs may have (containers.md#allowed). */
export const AllowedContainers = z
  .strictObject({
    binds: z
      .array(HostPath)
      .max(MAX_LIST)
      .default([])
      .describe("paths of the machine: what is below them may be mounted; an engine's socket by itself"),
    devices: z.array(HostPath).max(MAX_LIST).default([]),
    capabilities: z.array(Capability).max(MAX_LIST).default([]).describe("what may be added; `ALL`: any"),
    privileged: z.boolean().default(false),
    hostNetwork: z.boolean().default(false),
    gainPrivileges: z.boolean().default(false).describe("whether `mayGainPrivileges` is allowed"),
  })
  .meta({ id: "AllowedContainers" });
export type AllowedContainers = z.output<typeof AllowedContainers>;
