import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeGroup } from "../../agent/exec/processes/group.ts";
import { findHierarchies } from "../../agent/exec/processes/hierarchies.ts";

const CACHE = join(import.meta.dirname, "..", "..", ".cache");

let dir = "";
beforeEach(() => {
  mkdirSync(CACHE, { recursive: true });
  dir = mkdtempSync(join(CACHE, "hierarchies-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Writes files as the kernel shows them, for layouts that the machine of this test does not have. */
function put(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(dir, name, ".."), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
}

const ME = `1\n${process.pid}\n`;
const mount = (type: string, point: string, root = "/", options = "rw") =>
  `30 23 0:28 ${root} ${join(dir, point)} rw,relatime shared:9 - ${type} ${type} ${options}\n`;
const find = () =>
  findHierarchies(dir).map(({ parent, version, limits }) => ({
    parent: parent.slice(dir.length + 1),
    version,
    limits,
  }));

describe("where cgroups can be made, below the agent's own (tools.md#processes-and-cgroups)", () => {
  test("version 2, the agent in the leaf that a service manager has made: beside it, with limits", () => {
    put({
      mountinfo: mount("cgroup2", "fs"),
      cgroup: "0::/system.slice/drover.service/drover-agent\n",
      "fs/system.slice/drover.service/drover-agent/cgroup.procs": ME,
      "fs/system.slice/drover.service/cgroup.controllers": "cpu memory pids\n",
      "fs/system.slice/drover.service/cgroup.subtree_control": "cpu memory pids\n",
    });
    const parent = "fs/system.slice/drover.service";
    expect(find()).toEqual([{ parent, version: 2, limits: ["memory", "pids", "cpu"] }]);
  });

  test("version 2, controllers that are not handed down: without limits", () => {
    put({
      mountinfo: mount("cgroup2", "fs"),
      cgroup: "0::/own\n",
      "fs/own/cgroup.procs": ME,
      "fs/own/cgroup.controllers": "memory\n",
    });
    mkdirSync(join(dir, "fs/own/cgroup.subtree_control")); // cannot be written
    expect(find()).toEqual([{ parent: "fs/own", version: 2, limits: [] }]);
  });

  test("version 1, controllers mounted together: one folder for both", () => {
    put({
      mountinfo:
        mount("cgroup", "fs/cpu,cpuacct", "/", "rw,cpu,cpuacct") +
        mount("cgroup", "fs/blkio", "/", "rw,blkio"),
      cgroup: "4:cpu,cpuacct:/own\n3:blkio:/own\n",
      "fs/cpu,cpuacct/own/cgroup.procs": ME,
      "fs/blkio/own/cgroup.procs": ME,
    });
    expect(find()).toEqual([{ parent: "fs/cpu,cpuacct/own", version: 1, limits: ["cpu"] }]);
  });

  test("a container whose mount shows a part only: the path is taken from there", () => {
    put({
      mountinfo: mount("cgroup", "fs/pids", "/docker/c1", "rw,pids"),
      cgroup: "5:pids:/docker/c1/own\n",
      "fs/pids/own/cgroup.procs": ME,
    });
    expect(find()).toEqual([{ parent: "fs/pids/own", version: 1, limits: ["pids"] }]);
  });

  test.each([
    ["the kernel does not list us there", { "fs/own/cgroup.procs": "1\n" }],
    ["it is not there at all", {}],
  ])("not where %s", (_, files) => {
    put({ mountinfo: mount("cgroup2", "fs"), cgroup: "0::/own\n", ...files });
    expect(find()).toEqual([]);
  });

  test("nowhere on a machine that has none", () => {
    put({ mountinfo: "30 23 0:28 / /proc rw - proc proc rw\n", cgroup: "" });
    expect(find()).toEqual([]);
  });
});

test("the limits of version 2 (host-protocol.md#limits)", () => {
  const names = ["memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.weight"];
  put(Object.fromEntries(names.map((name) => [`group/${name}`, ""])));
  const hierarchy = {
    parent: dir,
    version: 2 as const,
    limits: ["memory" as const, "pids" as const, "cpu" as const],
  };
  makeGroup([hierarchy], "group", { memoryBytes: 1_000, vcpus: 200, pids: 64 });
  const values = names.map((name) => readFileSync(join(dir, "group", name), "utf8"));
  expect(values).toEqual(["1000", "0", "1", "64", "10000"]);
});
