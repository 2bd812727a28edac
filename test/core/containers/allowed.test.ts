import { describe, expect, test } from "vitest";
import { refusalOfContainers } from "../../../src/core/pool/rows/allowed-containers.ts";
import { answerRun } from "../../../src/core/pool/rows/runs.ts";
import { PutPoolConfig } from "../../../src/schema/pool.ts";
import { AllowedContainers, type ContainerNeeds } from "../../../src/schema/run/container.ts";
import { at, configured, run, T0, upsert } from "../support/pool.ts";

// What containers may have in a pool (containers.md#allowed).

const allow = (more: object = {}) => AllowedContainers.parse(more);
const settingIn = (text: string | null) => /`allowContainers\.(\w+)` of the pool$/.exec(text ?? "")?.[1];

describe("what lowers the wall is refused unless allowed, and the refusal names the setting", () => {
  test.each<[string, ContainerNeeds, object, RegExp]>([
    ["privileged mode", { privileged: true }, { privileged: true }, /nothing walls it off/],
    ["the machine's network", { hostNetwork: true }, { hostNetwork: true }, /the network of the machine/],
    ["a raise of rights", { mayGainPrivileges: true }, { gainPrivileges: true }, /may gain privileges/],
    ["a directory", { binds: ["/srv/data"] }, { binds: ["/srv/data"] }, /mounts \/srv\/data, which/],
    ["a device", { devices: ["/dev/fuse"] }, { devices: ["/dev/fuse"] }, /uses the device \/dev\/fuse/],
    [
      "a capability",
      { capabilities: ["SYS_ADMIN"] },
      { capabilities: ["SYS_ADMIN"] },
      /capability SYS_ADMIN/,
    ],
  ])("%s", (_what, needs, allowed, text) => {
    const [setting] = Object.keys(allowed);
    for (const others of [undefined, allow(), allow(everythingBut(setting ?? ""))]) {
      const refusal = refusalOfContainers(needs, others);
      expect(refusal).toMatch(text);
      expect(settingIn(refusal)).toBe(setting);
    }
    expect(refusalOfContainers(needs, allow(allowed))).toBeNull();
  });

  test("a container that asks for nothing needs nothing", () => {
    expect(refusalOfContainers({}, undefined)).toBeNull();
  });

  test("all that is asked for must be allowed, by whichever task", () => {
    const allowed = allow({ binds: ["/srv"], hostNetwork: true });
    expect(settingIn(refusalOfContainers({ binds: ["/srv/a", "/opt"], hostNetwork: true }, allowed))).toBe(
      "binds",
    );
  });
});

/** All settings, as wide as they go, but one. */
function everythingBut(setting: string): object {
  const all: Record<string, unknown> = {
    binds: ["/a"],
    devices: ["/dev/kvm"],
    capabilities: ["NET_ADMIN"],
    privileged: true,
    hostNetwork: true,
    gainPrivileges: true,
  };
  return Object.fromEntries(Object.entries(all).filter(([name]) => name !== setting));
}

describe("which paths an allowed path covers", () => {
  test.each<[string, string, string, boolean]>([
    ["itself", "/srv/data", "/srv/data", true],
    ["what is below it", "/srv/data", "/srv/data/a/b", true],
    ["not its neighbor with a longer name", "/srv/data", "/srv/dataX", false],
    ["not what is above it", "/srv/data", "/srv", false],
    ["itself, with a slash at its end", "/srv/data/", "/srv/data", true],
    ["itself, written with doubled slashes and dots", "/srv/data", "//srv/./data//x", true],
    ["an engine's socket that it names", "/run/podman/podman.sock", "/run/podman/podman.sock", true],
    ["not the socket of podman below it", "/run", "/run/podman/podman.sock", false],
    ["not the socket of Docker below it", "/var/run", "/var/run/docker.sock", false],
    ["not the socket of Docker, written otherwise", "/var", "/var//run/./docker.sock/", false],
    ["not that of containerd", "/run", "/run/containerd/containerd.sock", false],
    ["not that of CRI-O", "/run", "/run/crio/crio.sock", false],
    ["not the directory that holds podman's", "/run", "/run/podman", false],
    ["not the directory that holds Docker's", "/var", "/var/run", false],
    ["not that of containerd, written otherwise", "/var/run", "/var/run//containerd/.", false],
    ["not that of CRI-O", "/var", "/var/run/crio", false],
    ["such a directory that it names", "/run/podman", "/run/podman/", true],
    ["what is beside them", "/run", "/run/lock", true],
  ])("%s", (_what, allowed, path, covers) => {
    const refusal = refusalOfContainers({ binds: [path] }, allow({ binds: [allowed] }));
    expect(refusal === null).toBe(covers);
  });

  test("a device is allowed by itself, and not by its directory", () => {
    const allowed = allow({ devices: ["/dev/dri"] });
    expect(settingIn(refusalOfContainers({ devices: ["/dev/dri/card0"] }, allowed))).toBe("devices");
    expect(refusalOfContainers({ devices: ["/dev//dri"] }, allowed)).toBeNull();
  });

  test("`ALL` allows each capability, and only `ALL` allows `ALL`", () => {
    const all = allow({ capabilities: ["ALL"] });
    expect(refusalOfContainers({ capabilities: ["NET_ADMIN", "ALL"] }, all)).toBeNull();
    expect(
      refusalOfContainers({ capabilities: ["ALL"] }, allow({ capabilities: ["NET_ADMIN"] })),
    ).not.toBeNull();
  });
});

describe("what a pool may be told to allow", () => {
  test.each<[string, object, string]>([
    ["the whole machine", { binds: ["/"] }, "must not be `/`"],
    ["the whole machine, written otherwise", { binds: ["/./"] }, "must not be `/`"],
    ["a relative path", { binds: ["srv"] }, "an absolute path"],
    ["a path that climbs", { binds: ["/srv/../etc"] }, "without `..`"],
    ["a path with a colon", { binds: ["/srv:/etc"] }, "must not contain a colon"],
    ["a capability with its prefix", { capabilities: ["CAP_NET_ADMIN"] }, "without `CAP_`"],
  ])("not %s", (_what, allowContainers, detail) => {
    const { error } = AllowedContainers.safeParse(allowContainers);
    expect(error?.issues[0]?.message).toContain(detail);
    expect(PutPoolConfig.shape.allowContainers.safeParse(allowContainers).success).toBe(false);
  });
});

describe("a pool answers a run (containers.md#allowed)", () => {
  const answer = (needs: ContainerNeeds | undefined, more: object = {}) =>
    answerRun(configured(more), upsert("a", needs === undefined ? {} : { containers: needs }), T0);

  test("a refusal has a code of its own", () => {
    expect(answer({ privileged: true })).toMatchObject({
      kind: "refused",
      code: "container_not_allowed",
      text: expect.stringContaining("`allowContainers.privileged`"),
    });
  });

  test("what was allowed is not stored with the run: only that it has containers", () => {
    const needs = { binds: ["/srv/a"], privileged: true as const };
    const pool = configured({ allowContainers: { binds: ["/srv"], privileged: true } });
    const state = at(pool, T0, run("a", { containers: needs }), run("a", { containers: needs, version: 2 }));
    expect([...state.runs.live()]).toMatchObject([{ run: "a", version: 2, containers: {} }]);
    expect([...state.runs.live()][0]?.containers).toEqual({});
  });

  test.each<[string, ContainerNeeds | undefined, object]>([
    ["without containers", undefined, {}],
    ["whose containers ask for nothing", {}, {}],
    ["that asks for what is allowed", { privileged: true }, { allowContainers: { privileged: true } }],
  ])("a run %s is taken", (_what, needs, more) => {
    expect(answer(needs, more).kind).not.toBe("refused");
  });
});
