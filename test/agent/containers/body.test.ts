import { describe, expect, test } from "vitest";
import { bodyOf, type ContainerLaunch } from "../../../agent/containers/body.ts";
import { Container } from "../../../src/schema/run/container.ts";
import { task } from "../support/bench.ts";

const IMAGE = `sha256:${"1".repeat(64)}`;

const LAUNCH: ContainerLaunch = {
  image: IMAGE,
  argv: ["build", "--all"],
  env: { COLOR: "blue", EMPTY: "" },
  dir: "/state/local",
  shared: ["/state/alloc", "/state/local"],
  labels: { "drover.host": "0123456789ab" },
  owner: "0:0",
  devices: {},
};

const shared = (path: string) => ({
  Type: "bind",
  Source: path,
  Target: path,
  ReadOnly: false,
  BindOptions: { Propagation: "rprivate" },
});

/** What a container has that says nothing but its image. */
const PLAIN = {
  Image: IMAGE,
  Cmd: ["build", "--all"],
  Env: ["COLOR=blue", "EMPTY="],
  WorkingDir: "/state/local",
  Labels: LAUNCH.labels,
  Tty: false,
  OpenStdin: false,
  StdinOnce: false,
  AttachStdin: false,
  AttachStdout: false,
  AttachStderr: false,
  HostConfig: {
    Mounts: [shared("/state/alloc"), shared("/state/local")],
    CgroupnsMode: "private",
    Init: true,
    NetworkMode: "bridge",
    LogConfig: { Type: "local", Config: { "max-size": "1024g", "max-file": "1", compress: "false" } },
    RestartPolicy: { Name: "no" },
    AutoRemove: false,
    Memory: 268_435_456,
    MemorySwap: 268_435_456,
    CpuShares: 1_024,
    PidsLimit: 4_096,
    SecurityOpt: ["no-new-privileges"],
  },
};

function body(container: object, more: object = {}, engine: "docker" | "podman" = "docker") {
  const launch = { ...LAUNCH, ...more };
  return bodyOf(task([], more), Container.parse({ image: "node:24", ...container }), launch, { engine });
}

describe("what is asked of the engine for a container (containers.md#fields)", () => {
  test("one that says nothing but its image", () => {
    expect(body({})).toEqual(PLAIN);
  });

  test("one that says everything", () => {
    const everything = {
      pull: "always",
      auth: "registry",
      entrypoint: ["/entry", "--"],
      workdir: "/work",
      user: "builder:docker",
      groups: ["video", "44"],
      hostname: "box",
      hosts: { db: "10.0.0.1", "six.example": "fd00::1" },
      dns: ["10.0.0.53"],
      network: "host",
      binds: [
        { source: "/data", target: "/mnt/data" },
        { source: "/cache", target: "/cache", writable: true },
      ],
      tmpfs: { "/scratch": "64MiB" },
      shm: "1GiB",
      ulimits: { nofile: 4_096, core: { soft: 0, hard: -1 } },
      init: false,
      readOnly: true,
      privileged: true,
      addCapabilities: ["NET_ADMIN"],
      dropCapabilities: ["ALL"],
      devices: ["/dev/kvm"],
      mayGainPrivileges: true,
    };
    const { SecurityOpt: _, ...hostConfig } = PLAIN.HostConfig;
    expect(body(everything, { stdin: "text" })).toEqual({
      ...PLAIN,
      Entrypoint: ["/entry", "--"],
      User: "builder:docker",
      WorkingDir: "/work",
      Hostname: "box",
      OpenStdin: true,
      StdinOnce: true,
      AttachStdin: true,
      HostConfig: {
        ...hostConfig,
        Mounts: [
          ...PLAIN.HostConfig.Mounts,
          { ...shared("/data"), Target: "/mnt/data", ReadOnly: true },
          shared("/cache"),
        ],
        Tmpfs: { "/scratch": "rw,size=67108864" },
        Init: false,
        NetworkMode: "host",
        ExtraHosts: ["db:10.0.0.1", "six.example:fd00::1"],
        Dns: ["10.0.0.53"],
        ShmSize: 1_073_741_824,
        Ulimits: [
          { Name: "nofile", Soft: 4_096, Hard: 4_096 },
          { Name: "core", Soft: 0, Hard: -1 },
        ],
        ReadonlyRootfs: true,
        Privileged: true,
        CapAdd: ["NET_ADMIN"],
        CapDrop: ["ALL"],
        GroupAdd: ["video", "44"],
        Devices: [{ PathOnHost: "/dev/kvm", PathInContainer: "/dev/kvm", CgroupPermissions: "rwm" }],
      },
    });
  });

  test.each([
    ["the owner of the task's directory", { user: "task" }, {}, { User: "0:0" }],
    ["the image's own command", {}, { argv: [] }, { Cmd: undefined }],
    ["the image's own directory", {}, { dir: undefined }, { WorkingDir: undefined }],
    ["an entrypoint that is none", { entrypoint: [] }, {}, { Entrypoint: [] }],
  ])("%s", (_, container, more, expected) => {
    expect({ ...body(container, more), ...expected }).toEqual(body(container, more));
  });

  test.each([
    ["no processor: the share of an ordinary process", { vcpus: 0 }, { CpuShares: 1_024 }],
    ["half a processor", { vcpus: 0.5 }, { CpuShares: 512 }],
    ["next to none: the least that the kernel knows", { vcpus: 0.001 }, { CpuShares: 2 }],
    ["no memory: no limit", { memoryBytes: 0 }, { Memory: undefined, MemorySwap: undefined }],
  ])("resources: %s", (_, some, expected) => {
    const resources = { vcpus: 1, memoryBytes: 268_435_456, diskBytes: 0, gpus: 0, ...some };
    const { HostConfig } = body({}, { resources });
    expect({ ...HostConfig, ...expected }).toEqual(HostConfig);
  });

  test("a limit of the memory takes the place of what was asked for", () => {
    expect(body({}, { memoryLimitBytes: 1_000_000_000 }).HostConfig).toMatchObject({
      Memory: 1_000_000_000,
      MemorySwap: 1_000_000_000,
    });
  });

  test("podman keeps output in its own file, which is exact", () => {
    expect(body({}, {}, "podman").HostConfig?.LogConfig).toEqual({ Type: "k8s-file" });
  });
});
