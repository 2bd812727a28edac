import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RunSpec } from "../../src/schema/run/run.ts";
import { workerOf } from "../edge/support/samples.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, statusOf, TOKEN, taskOf } from "./support/control-plane.ts";
import { submissionOf } from "./support/submission.ts";

// `drover run --image`, and what is shown of containers (containers.md#fields).

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const bodyOf = (args: string[], options?: { cwd?: string; env?: NodeJS.ProcessEnv }) =>
  submissionOf(bench, args, options);

describe("a command in a container", () => {
  const IMAGE = ["--image", "node:24"];
  test.each<[string[], object]>([
    [[...IMAGE, "--", "npm", "test"], { argv: ["npm", "test"], container: { image: "node:24" } }],
    [
      ["--image", "ghcr.io/t/x", "--pull", "always", "--registry-auth", "ghcr", "--", "x"],
      { container: { image: "ghcr.io/t/x", pull: "always", auth: "ghcr" } },
    ],
    [
      [...IMAGE, "--bind", "/srv/data:/data", "--bind", "/tmp/x:/x:rw", "--bind", "/a:/b:ro", "x"],
      {
        container: {
          binds: [
            { source: "/srv/data", target: "/data", writable: false },
            { source: "/tmp/x", target: "/x", writable: true },
            { source: "/a", target: "/b", writable: false },
          ],
        },
      },
    ],
    [
      [...IMAGE, "--entrypoint", "sh", "--entrypoint", "-c", "--", "echo $HOME"],
      { argv: ["echo $HOME"], container: { entrypoint: ["sh", "-c"] } },
    ],
    [
      [...IMAGE, "--network", "host", "--user", "task", "--workdir", "/app", "--shm", "1GiB", "x"],
      { container: { network: "host", user: "task", workdir: "/app", shm: "1GiB" } },
    ],
    [
      [...IMAGE, "--cap-add", "NET_ADMIN", "--cap-drop", "ALL", "--device", "/dev/fuse", "--privileged", "x"],
      {
        container: {
          addCapabilities: ["NET_ADMIN"],
          dropCapabilities: ["ALL"],
          devices: ["/dev/fuse"],
          privileged: true,
        },
      },
    ],
  ])("%j is submitted as %j", async (args, body) => {
    expect(await bodyOf(args)).toMatchObject(body);
  });

  test("the command may be the image's, and nothing is sent but what was said", async () => {
    const body = await bodyOf(IMAGE);
    expect(body).toEqual({ id: body.id, container: { image: "node:24" } });
  });

  test("an array of them is one, too", async () => {
    const before = bench.plane.seen.length;
    await bench.run(["run", "--detach", "--array", "2", ...IMAGE]);
    const made = bench.plane.seen[before]?.body;
    const one = { container: { image: "node:24" } };
    expect(made).toMatchObject({ runs: [one, one] });
  });
});

describe("a file and flags", () => {
  const file = (content: object) => {
    const path = join(bench.dir, "run.json");
    writeFileSync(path, JSON.stringify(content));
    return ["-f", path];
  };

  test("an image of a flag is that of the tasks that name none", async () => {
    const tasks = [
      { name: "main", argv: ["x"] },
      { name: "db", argv: ["y"], container: { image: "postgres:18" } },
    ];
    const body = await bodyOf([...file({ tasks }), "--image", "node:24"]);
    expect(body).toMatchObject({ container: { image: "node:24" }, tasks });
  });

  test("a flag changes one field of the file's container, and adds none to it", async () => {
    const container = { image: "node:22", init: false, network: "none" };
    const body = await bodyOf([...file({ argv: ["x"], container }), "--network", "bridge"]);
    expect(body.container).toEqual({ ...container, network: "bridge" });
    expect((await bodyOf(file({ argv: ["x"], container }))).container).toEqual(container);
  });
});

describe("with a local Drover the directory is used in place, as without a container", () => {
  let local: { cwd: string; env: NodeJS.ProcessEnv };
  beforeAll(() => {
    const below = join(realpathSync(bench.dir), "project", "below");
    mkdirSync(below, { recursive: true });
    mkdirSync(join(bench.dir, "project", ".drover"));
    const context = JSON.stringify({ url: bench.plane.url, token: TOKEN });
    writeFileSync(join(bench.dir, "project", ".drover", "context.json"), context, { mode: 0o600 });
    local = { cwd: below, env: { PATH: process.env.PATH } };
  });
  const fileOf = (content: object) => {
    writeFileSync(join(local.cwd, "run.json"), JSON.stringify(content));
    return ["-f", "run.json"];
  };
  const container = { image: "node:24" };
  const task = (name: string, more: object = {}) => ({ name, argv: ["x"], ...more });

  test("and it has the image's search path, and a umask of its own", async () => {
    const body = await bodyOf(["--image", "node:24", "--env", "A=1", "--", "x"], local);
    expect(body).toEqual({ id: body.id, argv: ["x"], container, dir: local.cwd, env: { A: "1" } });
  });

  test.each<[string, object, boolean, boolean]>([
    ["a process has both of this place", { argv: ["x"] }, true, true],
    ["a container neither", { container }, false, false],
    ["nor do tasks that all have one", { tasks: [task("a", { container })] }, false, false],
    ["nor tasks of a group that has one", { container, tasks: [task("a")] }, false, false],
    [
      "beside a container a process has the umask, since both share the variables",
      { container, tasks: [task("a"), task("b", { driver: "exec" })] },
      true,
      false,
    ],
  ])("of a file: %s", async (_what, content, hasUmask, hasPath) => {
    const body = await bodyOf(fileOf(content), local);
    expect([body.umask !== undefined, (body.env as object | undefined) !== undefined]).toEqual([
      hasUmask,
      hasPath,
    ]);
    expect(body.dir).toBe(local.cwd);
  });
});

describe("what is written wrongly is said by the name of the flag", () => {
  test.each<[string[], RegExp]>([
    [
      ["run", "--pull", "always", "--", "x"],
      /--pull needs a container\.\n {2}Name its image: --image node:24/,
    ],
    [["run", "--user", "nobody", "--", "x"], /--user needs a container/],
    [["run", "--pull", "sometimes", "--image", "a", "x"], /--pull/],
    [["run", "--network", "mine", "--image", "a", "x"], /--network.*bridge, host, none/s],
    [["run", "--image", "a", "--bind", "data:/data", "x"], /--bind.*\/source:\/target/s],
    [["run", "--image", "a", "--bind", "/data", "x"], /--bind.*such as \/srv\/data:\/data/s],
    [["run", "--image", "a", "--bind", "/a:b:/c", "x"], /--bind.*colons cannot be mounted/s],
    [["run", "--image", "a", "--shm", "64", "x"], /--shm.*64MiB/s],
  ])("%j", async (args, text) => {
    const before = bench.plane.seen.length;
    const ended = await bench.run(args);
    expect([ended.code, ended.stdout.toString()]).toEqual([125, ""]);
    expect(ended.stderr).toMatch(text);
    expect(bench.plane.seen.length).toBe(before);
  });

  test("also if only the server can judge it", async () => {
    const errors = [
      { pointer: "/container/image", detail: "must be the name of an image" },
      { pointer: "/container/binds/1/source", detail: "must not be `/`" },
      { pointer: "/container/auth", detail: "names the secret" },
      { pointer: "/container/addCapabilities/0", detail: "must be a capability" },
    ];
    const refuse = (_seen: unknown, res: Parameters<typeof problem>[0]) =>
      problem(res, 400, "invalid_request", { detail: "the run is not valid", errors });
    bench.plane.on("POST", /^\/v1\/runs$/, refuse, 1);
    const flags = [
      "--image",
      "A",
      "--bind",
      "/a:/b",
      "--bind",
      "/:/c",
      "--cap-add",
      "x",
      "--registry-auth",
      "r",
    ];
    const ended = await bench.run(["run", ...flags, "--", "x"]);
    expect(ended.stderr.split("\n").slice(1, 5)).toEqual([
      "  --image: must be the name of an image",
      "  --bind /:/c: must not be `/`",
      "  --registry-auth: names the secret",
      "  --cap-add x: must be a capability",
    ]);
  });

  test("what the pool does not allow is said with the setting", async () => {
    const detail =
      "a container uses the network of the machine: set `allowContainers.hostNetwork` of the pool";
    bench.plane.on(
      "POST",
      /^\/v1\/runs$/,
      (_s, res) => problem(res, 422, "container_not_allowed", { detail }),
      1,
    );
    const ended = await bench.run(["run", "--image", "a", "--network", "host", "--", "x"]);
    expect([ended.code, ended.stderr]).toEqual([125, `drover: ${detail}\n`]);
  });
});

describe("what is shown", () => {
  test("of a run: its images, and of each attempt the digest", async () => {
    const image = `node@sha256:${"a".repeat(64)}`;
    const times = { startedAt: null, finishedAt: null, exit: null };
    const attempt = { id: "r1/main/1.1", state: "running" as const, ...times, image };
    const doing = { id: "r1/main/1.2", state: "preparing" as const, ...times, doing: "pulling node:24" };
    const spec = RunSpec.parse({
      container: { image: "node:24" },
      tasks: [
        { name: "main", argv: ["x"] },
        { name: "db", container: { image: "postgres:18" } },
        { name: "c", argv: ["x"], driver: "exec" },
      ],
    });
    bench.plane.runs.set("r1", statusOf("r1", { spec, tasks: [taskOf({ attempts: [attempt, doing] })] }));
    const shown = (await bench.run(["status", "r1"])).stdout.toString();
    expect(shown).toMatch(/^Image +node:24, postgres:18$/m);
    expect(shown).toContain(`    image: ${image}\n`);
    expect(shown).toContain("    pulling node:24\n");
  });

  test.each<[string, object | undefined, RegExp]>([
    ["usable", { state: "usable", fault: null }, /^Containers +podman 4\.3\.1$/m],
    [
      "not exact",
      { state: "usable", fault: null, logs: "text" },
      /^Containers +podman 4\.3\.1, whose output/m,
    ],
    ["down", { state: "down", fault: "podman: no answer" }, /^Containers +none can run: podman: no answer$/m],
    ["of no word", undefined, /^Worker +w-1$/m],
  ])("of a worker: an engine that is %s", async (_what, more, line) => {
    const engine = { name: "podman", version: "4.3.1", api: "1.41", logs: "exact", ...more };
    const worker = { ...workerOf("w-1", "default"), ...(more === undefined ? {} : { engine }) };
    bench.plane.on("GET", /^\/v1\/workers\/w-1$/, (_seen, res) => json(res, 200, worker), 1);
    const shown = (await bench.run(["workers", "w-1"])).stdout.toString();
    expect(shown).toMatch(line);
    if (more === undefined) expect(shown).not.toContain("Containers");
  });
});
