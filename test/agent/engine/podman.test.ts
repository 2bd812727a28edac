import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { EngineError } from "../../../agent/engine/errors.ts";
import type { ImageFault } from "../../../agent/engine/image-errors.ts";
import type { PullProgress } from "../../../agent/engine/pull-progress.ts";
import type { ContainerBody, HostConfig } from "../../../agent/engine/types.ts";
import { until } from "../../local/support/scratch.ts";
import { type FakeRegistry, openFakeRegistry } from "../support/fake-registry.ts";
import { BUSYBOX, hasPodman, type Podman, startPodman } from "../support/podman.ts";

/** A container of a shell script. */
function script(text: string, more: Partial<ContainerBody> = {}, host: HostConfig = {}): ContainerBody {
  return {
    Image: BUSYBOX,
    Cmd: ["/bin/sh", "-c", text],
    Labels: { "drover.test": "yes" },
    ...more,
    HostConfig: { NetworkMode: "host", Init: true, ...host },
  };
}

/** What comes out of `sh` for this script. */
const TORTURE = [
  "printf 'a\\377\\000b\\r\\nc\\r'",
  "echo err >&2",
  "head -c 100000 /dev/zero | tr '\\000' x",
  "printf 'no last newline'",
].join("; ");
const TORTURED = Buffer.concat([
  Buffer.from([97, 255, 0, 98, 13, 10, 99, 13]),
  Buffer.alloc(100_000, "x"),
  Buffer.from("no last newline"),
]);

describe.skipIf(!hasPodman)("a real podman", () => {
  let podman: Podman;
  beforeAll(async () => {
    podman = await startPodman();
  });
  afterAll(() => podman?.stop());
  afterEach(async () => {
    for (const { id } of await podman.engine.listContainers({})) await podman.engine.removeContainer(id);
  });

  const started = async (name: string, body: ContainerBody) => {
    const id = await podman.engine.createContainer(name, body);
    await podman.engine.startContainer(id);
    return id;
  };
  const written = async (id: string, follow = false) => {
    const parts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    for await (const { stream, data } of podman.engine.logs(id, { follow })) {
      parts[stream].push(Buffer.from(data));
    }
    return { stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) };
  };
  const errorOf = async (promise: Promise<unknown>) => {
    const error = await promise.then(
      () => undefined,
      (one) => one,
    );
    expect(error).toBeInstanceOf(EngineError);
    return error as EngineError;
  };

  test("engine.md#open: it says what it is", async () => {
    expect(await podman.engine.open()).toMatchObject({
      engine: "podman",
      api: "1.41",
      cgroupDriver: "cgroupfs",
      rootless: false,
      desktop: false,
      osType: "linux",
      liveRestore: true,
      rootDir: expect.stringContaining(podman.dir),
      logDrivers: expect.arrayContaining(["k8s-file"]),
    });
  });

  test.each([
    ["of a container that has ended", false],
    ["of one that goes on", true],
  ])("engine.md#logs: the output %s has every byte", async (_, follow) => {
    const id = await started("bytes", script(`${TORTURE}; exit 7`));
    const early = follow ? written(id, true) : undefined;
    expect(await podman.engine.waitContainer(id)).toBe(7);
    const { stdout, stderr } = await (early ?? written(id));
    expect(stdout.equals(TORTURED)).toBe(true);
    expect(stderr.toString()).toBe("err\n");
  });

  test("engine.md#inspect: a container's states, from its creation to its removal", async () => {
    const id = await podman.engine.createContainer("life", script("read line; exit 3", { OpenStdin: true }));
    const look = async () => (await podman.engine.inspectContainer("life"))?.state;
    expect(await look()).toMatchObject({ status: "created", running: false, pid: 0, startedAt: undefined });
    await podman.engine.startContainer(id);
    expect(await look()).toMatchObject({ status: "running", running: true, pid: expect.any(Number) });
    await podman.engine.startContainer(id);
    (await podman.engine.attachStdin(id)).end("line\n");
    await podman.engine.waitContainer(id);
    expect(await look()).toMatchObject({
      status: "exited",
      running: false,
      pid: 0,
      exitCode: 3,
      startedAt: expect.stringMatching(/^\d{4}-/),
      finishedAt: expect.stringMatching(/^\d{4}-/),
    });
    await podman.engine.removeContainer(id);
    expect(await look()).toBeUndefined();
    await podman.engine.removeContainer(id);
  });

  test("a list has the containers with all the labels that are asked for", async () => {
    const make = (name: string, labels: Record<string, string>) =>
      podman.engine.createContainer(name, script("true", { Labels: labels }));
    await make("one", { worker: "a", run: "1" });
    await make("two", { worker: "a" });
    await make("three", { worker: "b", run: "1" });
    const names = async (labels: Record<string, string>) =>
      (await podman.engine.listContainers(labels)).map(({ name }) => name).sort();
    expect(await names({ worker: "a" })).toEqual(["one", "two"]);
    expect(await names({ worker: "a", run: "1" })).toEqual(["one"]);
    expect(await names({ worker: "" })).toEqual(["one", "three", "two"]);
    expect(await names({ worker: "c" })).toEqual([]);
    const [row] = await podman.engine.listContainers({ run: "1", worker: "b" });
    expect(row).toMatchObject({ status: "created", labels: { worker: "b", run: "1" } });
  });

  const store = (name: string) => join(podman.dir, "root", `vfs-${name}`, `${name}.json`);
  const rows = (name: string) =>
    JSON.parse(readFileSync(store(name), "utf8")) as { id: string; layer: string }[];

  /** What a podman leaves behind that is killed as it removes a container, after so many of its steps. */
  async function halfRemoved(name: string, steps: 1 | 2): Promise<string> {
    const id = await started(name, script("exit 3", { Labels: { half: name } }));
    await podman.engine.waitContainer(id);
    await podman.kill();
    const layer = rows("containers").find((one) => one.id === id)?.layer;
    writeFileSync(store("layers"), JSON.stringify(rows("layers").filter((one) => one.id !== layer)));
    if (steps === 2)
      writeFileSync(store("containers"), JSON.stringify(rows("containers").filter((one) => one.id !== id)));
    await podman.restart();
    return id;
  }

  test.each([
    ["whose files are gone", 1],
    ["whose files and whose entry in the store are gone", 2],
  ] as const)("engine.md#half-removed: a container %s hides no other, and goes", async (_, steps) => {
    await podman.engine.createContainer("whole", script("true"));
    await halfRemoved("first", steps);
    await halfRemoved("second", steps);
    expect((await podman.names()).sort()).toEqual(["first", "second", "whole"]);
    expect(await podman.engine.listContainers({ half: "first" })).toEqual([]);
    expect((await podman.names()).sort()).toEqual(["second", "whole"]);
    expect(await podman.engine.listContainers({})).toMatchObject([{ name: "whole" }]);
    expect(await podman.names()).toEqual(["whole"]);
    const id = await halfRemoved("third", steps);
    expect(await podman.engine.inspectContainer(id)).toBeUndefined();
    await halfRemoved("fourth", steps);
    expect(await podman.engine.inspectContainer("fourth")).toBeUndefined();
    const made = await podman.engine.createContainer("fourth", script("true"));
    expect((await podman.engine.inspectContainer("fourth"))?.id).toBe(made);
  });

  test.each([
    ["before its start", true],
    ["after its start", false],
  ])(
    "engine.md#hijack: the input of a container that is attached %s ends, and output goes on",
    async (_, early) => {
      const input = { OpenStdin: true, StdinOnce: true, AttachStdin: true };
      const id = await podman.engine.createContainer("input", script("sha256sum; echo end", input));
      const content = Buffer.alloc(1_000_000, "0123456789\n");
      const send = async () => (await podman.engine.attachStdin(id)).end(content);
      if (early) await send();
      await podman.engine.startContainer(id);
      if (!early) await send();
      expect(await podman.engine.waitContainer(id)).toBe(0);
      const sum = createHash("sha256").update(content).digest("hex");
      expect((await written(id)).stdout.toString()).toBe(`${sum}  -\nend\n`);
    },
  );

  test("engine.md#hijack: a process beside the main one has input, output and an exit code", async () => {
    const id = await started("exec", script("sleep 60"));
    const Cmd = ["/bin/sh", "-c", "cat; echo err >&2; exit 5"];
    const exec = await podman.engine.createExec(id, { Cmd, User: "task" });
    const { input, output } = await podman.engine.startExec(exec, { tty: false });
    expect(await podman.engine.inspectExec(exec)).toMatchObject({ running: true, exitCode: undefined });
    input.end("over there");
    const parts = { stdout: "", stderr: "" };
    for await (const { stream, data } of output) parts[stream] += data.toString();
    expect(parts).toEqual({ stdout: "over there", stderr: "err\n" });
    expect(await podman.engine.inspectExec(exec)).toMatchObject({ running: false, exitCode: 5 });
    expect(await podman.engine.inspectExec("0".repeat(64))).toBeUndefined();
  });

  test("a process with a terminal has its size, and no frames", async () => {
    const id = await started("tty", script("sleep 60"));
    const exec = await podman.engine.createExec(id, {
      Cmd: ["/bin/sh", "-c", "read l; stty size"],
      Tty: true,
    });
    const { input, output } = await podman.engine.startExec(exec, { tty: true });
    await podman.engine.resizeExec(exec, 33, 101);
    input.write("go\n");
    let text = "";
    for await (const { stream, data } of output) text += `${stream}:${data.toString()}`;
    expect(text).toContain("33 101\r\n");
    expect(text).not.toContain("stderr");
  });

  test("engine.md#kill: a signal reaches the main process; if that has ended it is fine", async () => {
    const id = await started("signals", script("trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done"));
    await until("it has its trap", async () => (await written(id)).stdout.length > 0 || undefined);
    await podman.engine.killContainer(id, "SIGTERM");
    expect(await podman.engine.waitContainer(id)).toBe(9);
    await podman.engine.killContainer(id, "SIGTERM");
    await podman.engine.removeContainer(id);
    await podman.engine.killContainer(id, "SIGTERM");
    const error = await errorOf(
      podman.engine.killContainer(await started("no", script("sleep 60")), "SIGNONE"),
    );
    expect(error.status).toBeGreaterThanOrEqual(400);
  });

  test("a container that ignores TERM is removed while it runs", async () => {
    const id = await started("deaf", script("trap '' TERM; sleep 60 & sleep 60"));
    await podman.engine.removeContainer(id);
    expect(await podman.engine.inspectContainer(id)).toBeUndefined();
  });

  test("engine.md#names: a name that is taken is a conflict", async () => {
    const id = await podman.engine.createContainer("taken", script("true"));
    expect(await errorOf(podman.engine.createContainer("taken", script("true")))).toMatchObject({
      kind: "conflict",
      said: expect.stringContaining("taken"),
    });
    expect((await podman.engine.inspectContainer("taken"))?.id).toBe(id);
  });

  test.each<[string, ContainerBody]>([
    ["a command that is not there", { ...script("true", {}, { Init: false }), Cmd: ["/no/such/command"] }],
    ["a user that is not there", script("true", { User: "nobody-here" })],
  ])("engine.md#start: %s is an error of the start, and the container has never run", async (_, body) => {
    const id = await podman.engine.createContainer("bad", body);
    const error = await errorOf(podman.engine.startContainer(id));
    expect(error).toMatchObject({
      kind: "server",
      status: 500,
      said: expect.stringMatching(/no such|no matching/),
    });
    const state = (await podman.engine.inspectContainer(id))?.state;
    expect(state).toMatchObject({ status: "created", startedAt: undefined });
  });

  test("what it does not have is not found", async () => {
    const none = await errorOf(podman.engine.createContainer("x", { Image: "localhost/none:latest" }));
    expect(none.kind).toBe("not_found");
    expect(await podman.engine.inspectImage("localhost/none:latest")).toBeUndefined();
    expect(await podman.engine.inspectContainer("none")).toBeUndefined();
    expect((await errorOf(podman.engine.startContainer("none"))).kind).toBe("not_found");
    expect((await errorOf(podman.engine.waitContainer("none"))).kind).toBe("not_found");
    await podman.engine.removeImage("localhost/none:latest");
  });

  test("an image is found by name and by id, is in the list, and goes when nobody uses it", async () => {
    await podman.importImage("localhost/drover/other:latest", ['ENTRYPOINT ["/bin/echo"]', "USER task"]);
    const image = await podman.engine.inspectImage("localhost/drover/other:latest");
    expect(image).toMatchObject({ os: "linux", config: { entrypoint: ["/bin/echo"], user: "task" } });
    const id = image?.id ?? "";
    expect(id).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect((await podman.engine.inspectImage(id))?.id).toBe(id);
    expect((await podman.engine.listImages()).map((one) => one.id)).toContain(id);
    const user = await podman.engine.createContainer("user", { ...script("true"), Image: id });
    expect((await errorOf(podman.engine.removeImage(id))).kind).toBe("conflict");
    await podman.engine.removeContainer(user);
    await podman.engine.removeImage(id);
    expect(await podman.engine.inspectImage(id)).toBeUndefined();
  });

  describe("engine.md#pull: an image of a registry", () => {
    let registry: FakeRegistry;
    beforeAll(async () => {
      registry = await openFakeRegistry();
    });
    afterAll(() => registry.close());
    afterEach(() => Object.assign(registry, { refusal: undefined, authorization: undefined, stalls: false }));
    const image = (name: string) => `${registry.address}/drover/${name}:1`;

    test("comes by its tag, and then by its digest", async () => {
      const seen: PullProgress[] = [];
      await podman.engine.pullImage(image("a"), { onProgress: (progress) => seen.push(progress) });
      expect(seen.at(-1)).toMatchObject({ layers: 2, layersDone: 2 });
      const facts = await podman.engine.inspectImage(image("a"));
      expect(facts).toMatchObject({ os: "linux", config: { cmd: ["/hello"] }, repoTags: [image("a")] });
      const digest = facts?.repoDigests[0]?.split("@")[1];
      await podman.engine.pullImage(`${registry.address}/drover/b@${digest}`);
      const again = await podman.engine.inspectImage(`${registry.address}/drover/b@${digest}`);
      expect(again?.id).toBe(facts?.id);
    });

    test("is given to those alone who say who they are", async () => {
      registry.authorization = `Basic ${Buffer.from("me:ÿ?>~").toString("base64")}`;
      const auth = { username: "me", password: "ÿ?>~" };
      const pull = (more: object) => podman.engine.pullImage(image("closed"), more);
      expect(await errorOf(pull({}))).toMatchObject({ fault: "denied" });
      expect(await errorOf(pull({ auth: { ...auth, password: "no" } }))).toMatchObject({ fault: "denied" });
      await pull({ auth });
    });

    test.each<[ImageFault, number, string]>([
      ["missing", 404, "NAME_UNKNOWN"],
      ["denied", 403, "DENIED"],
    ])("engine.md#image-faults: is %s if the registry says %d", async (fault, status, code) => {
      registry.refusal = { status, code, message: "it is so" };
      expect(await errorOf(podman.engine.pullImage(image("no")))).toMatchObject({ kind: "image", fault });
    });

    test("engine.md#image-faults: for another machine is of the wrong architecture", async () => {
      const error = await errorOf(podman.engine.pullImage(image("a"), { platform: "linux/s390x" }));
      expect(error).toMatchObject({ kind: "image", fault: "wrong_arch" });
    });

    test("is given up when it stands still", async () => {
      registry.stalls = true;
      const error = await errorOf(podman.engine.pullImage(image("still"), { stallMs: 2_000 }));
      expect(error).toMatchObject({ kind: "timeout", message: expect.stringContaining("nothing has moved") });
    });
  });

  test("a container is below the cgroup that is asked for", async () => {
    const CgroupParent = `${podman.cgroupParent}/attempt`;
    const id = await started("group", script("cat /proc/1/cgroup; sleep 60", {}, { CgroupParent }));
    const path = `${CgroupParent}/libpod-${id}`;
    await until(
      "it has said where it is",
      async () => (await written(id)).stdout.toString().includes("\n") || undefined,
    );
    expect((await podman.engine.inspectContainer(id))?.cgroupParent).toBe(CgroupParent);
    expect((await written(id)).stdout.toString()).toContain(`:${path}\n`);
  });

  test("engine.md#errors: a podman that is killed cuts what is open, and nothing is lost", async () => {
    const ends = await started(
      "ends",
      script("echo one; read line; exit 6", { OpenStdin: true, StdinOnce: true }),
    );
    const goes = await started(
      "goes",
      script("echo one; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo two; exit 7"),
    );
    const input = await podman.engine.attachStdin(ends);
    await until("both have begun", async () => {
      const both = await Promise.all([written(ends), written(goes)]);
      return both.every(({ stdout }) => stdout.length > 0) || undefined;
    });
    const waited = errorOf(podman.engine.waitContainer(goes));
    const followed = podman.engine.logs(goes, { follow: true })[Symbol.asyncIterator]();
    // The wait was asked for before what has an answer now.
    expect((await followed.next()).value?.data.toString()).toBe("one\n");
    // Podman's own helper of a container carries its input only while the service lives.
    input.end("line\n");
    await podman.kill();
    expect((await errorOf(followed.next())).kind).toBe("cut");
    expect((await waited).kind).toBe("cut");
    const gone = await errorOf(podman.engine.inspectContainer(goes));
    expect(gone.kind).toBe("unreachable");
    await podman.restart();
    expect(await podman.engine.waitContainer(ends)).toBe(6);
    expect((await podman.engine.inspectContainer(goes))?.state.running).toBe(true);
    const exec = await podman.engine.createExec(goes, { Cmd: ["touch", "/tmp/go"] });
    for await (const _ of (await podman.engine.startExec(exec, { tty: false })).output);
    expect(await podman.engine.waitContainer(goes)).toBe(7);
    expect((await written(goes, true)).stdout.toString()).toBe("one\ntwo\n");
  });

  test("a wait and a follow end when they are told to", async () => {
    const id = await started("long", script("sleep 60"));
    const stop = new AbortController();
    const wait = errorOf(podman.engine.waitContainer(id, stop.signal));
    const follow = errorOf(
      (async () => {
        for await (const _ of podman.engine.logs(id, { follow: true, signal: stop.signal }));
      })(),
    );
    stop.abort();
    expect((await wait).kind).toBe("aborted");
    expect((await follow).kind).toBe("aborted");
    expect((await podman.engine.inspectContainer(id))?.state.running).toBe(true);
  });
});
