import { describe, expect, test } from "vitest";
import { commandOf, containerNeedsOf, tasksOf } from "../../../src/core/spec.ts";
import { Container } from "../../../src/schema/run/container.ts";
import { RunSpec } from "../../../src/schema/run/run.ts";
import { MAX_CONTAINER_VARIABLES } from "../../../src/shared/limits.ts";

// What a spec may say of containers (containers.md#fields).

const image = "node:24";
const argv = ["make"];
const container = { image };
const task = (more: object = {}) => ({ name: "m", argv, ...more });
const variables = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`V${i}`, ""]));

const bind = (source: string, target: string) => ({ source, target });
const binds = (count: number) => Array.from({ length: count }, (_, i) => bind("/a", `/m${i}`));

/** The first fault of a spec: where it is, and its text. */
function faultOf(spec: object): string | undefined {
  const issue = RunSpec.safeParse(spec).error?.issues[0];
  return issue && `${issue.path.join("/")} ${issue.message}`;
}

describe("the name of an image is taken", () => {
  test.each([
    "node",
    "node:24",
    "library/node",
    "ghcr.io/team/tool:v1.2.3-rc_1",
    "localhost:5000/a/b/c:X",
    "localhost/drover/busybox:latest",
    "10.0.0.1:5000/a",
    `node@sha256:${"a".repeat(64)}`,
    `registry.example/team/tool:1@sha256:${"0".repeat(64)}`,
    "a__b/c-d.e",
  ])("%s", (name) => {
    expect(faultOf({ container: { image: name } })).toBeUndefined();
  });
});

describe("what is no name of an image is refused", () => {
  test.each([
    "",
    "Node:24",
    "node:",
    "node:24:25",
    "node 24",
    "-node",
    "node:-1",
    "/node",
    "node/",
    "https://ghcr.io/team/tool",
    "node@sha256:abc",
    `node@md5:${"a".repeat(64)}`,
    "node;rm -rf",
    "../node",
    "a".repeat(513),
    `node:${"x".repeat(129)}`,
  ])("%s", (name) => {
    expect(faultOf({ container: { image: name } })).toMatch(/^container\/image /);
  });
});

describe("a container is refused that has", () => {
  test.each<[string, object, string]>([
    [
      "a mount of the whole machine",
      { binds: [{ source: "/", target: "/m" }] },
      "binds/0/source must not be `/`",
    ],
    [
      "the same, written otherwise",
      { binds: [{ source: "/.//", target: "/m" }] },
      "binds/0/source must not be",
    ],
    [
      "a mount that climbs",
      { binds: [{ source: "/srv/..", target: "/m" }] },
      "binds/0/source must be an absolute",
    ],
    [
      "a mount with a colon",
      { binds: [{ source: "/a:b", target: "/m" }] },
      "binds/0/source must not contain",
    ],
    [
      "a relative mount",
      { binds: [{ source: "a", target: "/m" }] },
      "binds/0/source must be an absolute path",
    ],
    ["a mount over its image", { binds: [{ source: "/a", target: "/" }] }, "binds/0/target must not be `/`"],
    [
      "a mount at a place with a colon",
      { binds: [{ source: "/a", target: "/m:ro" }] },
      "binds/0/target must not contain a colon",
    ],
    ["memory at its root", { tmpfs: { "/": "1GiB" } }, "tmpfs// "],
    ["a device elsewhere", { devices: ["/etc/passwd"] }, "devices/0 must be below /dev"],
    ["a device with a NUL", { devices: ["/dev/a\0"] }, "devices/0 must not contain a NUL"],
    ["a capability with its prefix", { addCapabilities: ["CAP_SYS_ADMIN"] }, "addCapabilities/0 must be a"],
    ["a network of another container", { network: "container:db" }, "network "],
    ["a host without an address", { hosts: { db: "nowhere" } }, "hosts/db must be an IPv4 or IPv6 address"],
    ["a name server by its name", { dns: ["dns.example"] }, "dns/0 must be an IPv4 or IPv6 address"],
    ["a host name with dots", { hostname: "a.b" }, "hostname must be a host name without dots"],
    ["a limit of no name", { ulimits: { "no file": 1 } }, "ulimits/no file "],
    ["a relative directory", { workdir: "src" }, "workdir must be an absolute path"],
    ["credentials in place of a secret's name", { auth: "ann:secret word" }, "auth must be 1 to 64 letters"],
    ["a field that it does not have", { cmd: ["true"] }, ""],
  ])("%s", (_what, more, text) => {
    const fault = faultOf({ container: { image, ...more } });
    expect(fault).toMatch(/^container/);
    expect(fault).toContain(text);
  });
});

describe("what contradicts itself is refused", () => {
  test.each<[string, object, string]>([
    ["neither a command nor an image", {}, "argv must be a list of strings"],
    [
      "a task without both in a group that has no container",
      { tasks: [{ name: "m" }] },
      "tasks/0/argv must be a list of strings",
    ],
    [
      "a process without a command in a group that has one",
      { container, tasks: [{ name: "m", driver: "exec" }] },
      "tasks/0/argv must be a list of strings",
    ],
    [
      "a process in a container",
      { tasks: [task({ container, driver: "exec" })] },
      'tasks/0/container cannot be combined with `driver: "exec"`',
    ],
    [
      "a script in a container",
      { tasks: [task({ container, driver: "fake" })] },
      'tasks/0/container cannot be combined with `driver: "fake"`',
    ],
    ["a driver without its image", { tasks: [task({ driver: "container" })] }, "tasks/0/container must name"],
    [
      "a user of the machine",
      { tasks: [task({ container, user: "nobody" })] },
      "tasks/0/user is a user of the machine; the user in a container is `container.user`",
    ],
    [
      "a name that is Drover's own",
      { argv, secrets: { "drover.registry": { secret: "a" } } },
      "secrets/drover.registry is reserved",
    ],
    [
      "the same in a task",
      { tasks: [task({ secrets: { "drover.registry": { secret: "a" } } })] },
      "tasks/0/secrets/drover.registry is reserved",
    ],
    ["a umask", { container, umask: "027" }, "umask has no effect in a container"],
    ["a umask of a task", { container, tasks: [task({ umask: "027" })] }, "tasks/0/umask has no effect"],
    [
      "a umask of a group of containers",
      { container, umask: "027", tasks: [task()] },
      "umask has no effect in a container",
    ],
    ["a look into what has ended", { container, keep: "1h" }, "keep is not possible in a container yet"],
    [
      "too many variables",
      { container, env: variables(MAX_CONTAINER_VARIABLES + 1) },
      `env must have at most ${MAX_CONTAINER_VARIABLES} entries in a container`,
    ],
    ["10,000 variables", { container, env: variables(10_000) }, "put the others into a file"],
    [
      "too many with those of the group",
      { container, env: variables(MAX_CONTAINER_VARIABLES), tasks: [task({ env: { MORE: "" } })] },
      "tasks/0/env must have at most",
    ],
    [
      "too many of a group with one container",
      { env: variables(MAX_CONTAINER_VARIABLES + 1), tasks: [task(), task({ name: "n", container })] },
      "env must have at most",
    ],
    ["the whole image as its directory", { container, dir: "//" }, "dir must not be `/` in a container"],
    [
      "the same of a task",
      { tasks: [task({ container, dir: "/./" })] },
      "tasks/0/dir must not be `/` in a container",
    ],
    [
      "that of its group",
      { dir: "/", tasks: [task({ container }), task({ name: "n" })] },
      "tasks/0/dir must not be `/` in a container",
    ],
    ["a directory with a colon", { container, dir: "/a:b" }, "dir must not contain a colon in a container"],
    [
      "two mounts at one place",
      { container: { image, binds: [bind("/a", "/m"), bind("/b", "/m/.")] } },
      "container/binds/1/target is the place of two mounts: /m",
    ],
    [
      "a mount and memory at one place",
      { tasks: [task({ container: { image, binds: [bind("/a", "/m")], tmpfs: { "/m/": "1GiB" } } })] },
      "tasks/0/container/tmpfs//m/ is the place of two mounts: /m",
    ],
    [
      "a soft limit above the hard one",
      { container: { image, ulimits: { nofile: { soft: 9, hard: 8 } } } },
      "container/ulimits/nofile/soft must be at most the hard limit, 8",
    ],
    [
      "no soft limit below a hard one",
      { container: { image, ulimits: { nofile: { soft: -1, hard: 8 } } } },
      "container/ulimits/nofile/soft must be at most the hard limit, 8",
    ],
    [
      "more paths than a run can name in all",
      { tasks: ["m", "n"].map((name) => task({ name, container: { image, binds: binds(33) } })) },
      "tasks must have at most 64 `binds` in all",
    ],
    [
      "more devices than a run can name in all",
      {
        container: { image, devices: Array.from({ length: 64 }, (_, i) => `/dev/x${i}`) },
        tasks: [task({ container: { image, devices: ["/dev/fuse"] } })],
      },
      "tasks must have at most 64 `devices` in all",
    ],
    [
      "a check by HTTP without a network",
      { container: { image, network: "none" }, checks: [{ name: "up", http: { port: 80 } }] },
      'checks/0/http cannot reach a container with `network: "none"`',
    ],
    [
      "a check of a port of a task without a network",
      {
        container: { image, network: "none" },
        tasks: [task({ checks: [{ name: "up", tcp: { port: 80 } }] })],
      },
      'tasks/0/checks/0/tcp cannot reach a container with `network: "none"`',
    ],
  ])("%s", (_what, spec, text) => {
    expect(faultOf(spec)).toContain(text);
  });

  test.each<[string, object]>([
    ["mounts at two places", { container: { image, binds: binds(64), tmpfs: { "/t": "1GiB" } } }],
    ["a hard limit without end", { container: { image, ulimits: { nofile: { soft: 9, hard: -1 } } } }],
    ["a process in the whole machine", { argv, dir: "/" }],
    [
      "a check by a command without a network",
      { container: { image, network: "none" }, checks: [{ name: "up", command: { argv } }] },
    ],
    ["as many variables as a container can have", { container, env: variables(MAX_CONTAINER_VARIABLES) }],
    ["more of them for a process", { argv, env: variables(MAX_CONTAINER_VARIABLES + 1) }],
    ["an image that says the command", { container }],
    [
      "a group with a process that is kept",
      { container, keep: "1h", tasks: [task(), task({ name: "n", driver: "exec" })] },
    ],
    ["a task whose group has the image", { container, tasks: [{ name: "m" }] }],
    [
      "a process beside containers, with a umask for it",
      {
        container,
        umask: "027",
        tasks: [task({ driver: "exec", user: "nobody" }), task({ name: "n" })],
      },
    ],
  ])("but not %s", (_what, spec) => {
    expect(faultOf(spec)).toBeUndefined();
  });
});

describe("which task runs in which container", () => {
  const other = { image: "postgres:18" };
  const images = (spec: object) => tasksOf(RunSpec.parse(spec)).map(({ container: one }) => one?.image);

  test.each<[string, object, (string | undefined)[]]>([
    ["the short form", { argv, container }, [image]],
    ["none", { argv }, [undefined]],
    ["that of the group", { container, tasks: [task()] }, [image]],
    ["its own before that of the group", { container, tasks: [task({ container: other })] }, ["postgres:18"]],
    ["a process beside it", { container, tasks: [task({ driver: "exec" })] }, [undefined]],
    ["a script beside it", { container, tasks: [task({ driver: "fake" })] }, [undefined]],
  ])("%s", (_what, spec, expected) => {
    expect(images(spec)).toEqual(expected);
  });

  test("what is not said has its default", () => {
    const [first] = tasksOf(RunSpec.parse({ argv, container }));
    expect(first?.container).toEqual({ image, pull: "missing", network: "bridge", init: true });
    expect(Container.parse({ image, binds: [{ source: "/a", target: "/b" }] }).binds).toEqual([
      { source: "/a", target: "/b", writable: false },
    ]);
  });

  test("a command that is the image's is shown as the image", () => {
    expect(commandOf(RunSpec.parse({ container }))).toBe("(node:24)");
    expect(commandOf(RunSpec.parse({ argv, container }))).toBe("make");
  });
});

describe("the credentials of a registry (containers.md#registry)", () => {
  const auth = { image, auth: "ghcr" };
  test.each<[string, object, object | undefined]>([
    ["are a secret of the task", { argv, container: auth }, { secret: "ghcr", as: "file" }],
    ["also if the group says so", { container: auth, tasks: [task()] }, { secret: "ghcr", as: "file" }],
    ["and of no process beside it", { container: auth, tasks: [task({ driver: "exec" })] }, undefined],
    ["without them there is none", { argv, container }, undefined],
  ])("%s", (_what, spec, expected) => {
    const [first] = tasksOf(RunSpec.parse(spec));
    expect(first?.secrets?.["drover.registry"]).toEqual(expected);
  });
});

describe("what the containers of a run need (containers.md#allowed)", () => {
  const bind = (source: string, target = "/m") => ({ source, target });
  test.each<[string, object, object | undefined]>([
    ["a process needs nothing of the kind", { argv }, undefined],
    ["a plain container nothing that a pool must allow", { argv, container }, {}],
    [
      "all that lowers the wall",
      {
        container: {
          image,
          privileged: true,
          network: "host",
          mayGainPrivileges: true,
          binds: [bind("/a")],
          devices: ["/dev/fuse"],
          addCapabilities: ["NET_ADMIN"],
        },
      },
      {
        privileged: true,
        hostNetwork: true,
        mayGainPrivileges: true,
        binds: ["/a"],
        devices: ["/dev/fuse"],
        capabilities: ["NET_ADMIN"],
      },
    ],
    [
      "that of each task, each once",
      {
        container: { image, binds: [bind("/a"), bind("/b", "/n")] },
        tasks: [task(), task({ name: "n" }), task({ name: "o", container: { image, binds: [bind("/c")] } })],
      },
      { binds: ["/a", "/b", "/c"] },
    ],
    [
      "not that of a container which no task has",
      { container: { image, privileged: true }, tasks: [task({ driver: "exec" })] },
      undefined,
    ],
    [
      "nothing for what raises the wall",
      { container: { image, dropCapabilities: ["ALL"], readOnly: true } },
      {},
    ],
    ["nothing for what is denied", { container: { image, privileged: false, network: "none" } }, {}],
  ])("%s", (_what, spec, needs) => {
    expect(containerNeedsOf(RunSpec.parse(spec))).toEqual(needs);
  });
});
