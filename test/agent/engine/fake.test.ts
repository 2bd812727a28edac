import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { Engine } from "../../../agent/engine/engine.ts";
import { EngineError, type EngineErrorKind } from "../../../agent/engine/errors.ts";
import { faultOf } from "../../../agent/engine/transport.ts";
import { until } from "../../local/support/scratch.ts";
import { fakeImage } from "../support/fake-containers.ts";
import { type FakeEngine, type FakeEngineOptions, openFakeEngine } from "../support/fake-engine.ts";

let fake: FakeEngine;
afterEach(() => fake?.close());

/** A fake that has an image. */
async function opened(options: FakeEngineOptions = {}): Promise<Engine> {
  fake = await openFakeEngine(options);
  fake.images.push(fakeImage("alpine:3"));
  return fake.engine;
}

async function errorOf(promise: Promise<unknown>): Promise<EngineError> {
  const error = await promise.then(
    () => undefined,
    (one) => one,
  );
  expect(error).toBeInstanceOf(EngineError);
  return error;
}

async function written(engine: Engine, id: string, follow = false) {
  const parts = { stdout: "", stderr: "" };
  for await (const { stream, data } of engine.logs(id, { follow })) parts[stream] += data.toString("latin1");
  return parts;
}

describe("engine.md#versions: the version of the API", () => {
  test.each<[string, string, string]>([
    ["1.41", "1.24", "1.41"],
    ["1.44", "1.24", "1.44"],
    ["1.52", "1.44", "1.52"],
    ["1.60", "1.44", "1.52"],
  ])("an engine of %s (at least %s) is asked with %s", async (newest, least, api) => {
    const engine = await opened({ newest, least });
    expect((await engine.open()).api).toBe(api);
    await engine.listContainers({});
    const versions = new Set(fake.requests.map(({ version }) => version));
    expect([...versions]).toEqual(["", api]);
  });

  test.each([
    ["is too old", { newest: "1.40", least: "1.12" }, "install Docker 20.10 or podman 4"],
    ["is too new", { newest: "2.0", least: "1.60" }, "update Drover"],
  ])("an engine that %s is refused, with what to do", async (_, options, text) => {
    const error = await errorOf((await opened(options)).listContainers({}));
    expect(error).toMatchObject({ kind: "version", message: expect.stringContaining(text) });
  });

  test("after an upgrade of the engine its new version is asked for", async () => {
    const options = { newest: "1.44", least: "1.24" };
    const engine = await opened(options);
    await engine.listContainers({});
    await fake.down();
    Object.assign(options, { newest: "1.52", least: "1.50" });
    expect((await errorOf(engine.listContainers({}))).kind).toBe("unreachable");
    await fake.up();
    await engine.listContainers({});
    expect(fake.requests.at(-1)?.version).toBe("1.52");
  });

  test("an engine that was replaced between two requests is asked again after a refusal", async () => {
    const options = { newest: "1.44", least: "1.24" };
    const engine = await opened(options);
    await engine.listContainers({});
    Object.assign(options, { newest: "1.52", least: "1.50" });
    expect(await errorOf(engine.listContainers({}))).toMatchObject({ kind: "refused", status: 400 });
    await engine.listContainers({});
  });
});

describe("engine.md#open: what engine it is", () => {
  test("Docker, by its own answers", async () => {
    expect(await (await opened()).open()).toMatchObject({
      engine: "docker",
      version: "29.0.0",
      cgroupDriver: "systemd",
      cgroupVersion: 2,
      rootless: false,
      usernsRemap: false,
      desktop: false,
      arch: "amd64",
      init: true,
      liveRestore: false,
      rootDir: "/var/lib/docker",
      logDrivers: expect.arrayContaining(["local"]),
    });
  });

  test.each<[string, FakeEngineOptions, object]>([
    ["Desktop", { info: { OperatingSystem: "Docker Desktop" } }, { desktop: true }],
    ["rootless", { info: { SecurityOptions: ["name=rootless"] } }, { rootless: true }],
    ["with other users", { info: { SecurityOptions: ["name=userns"] } }, { usernsRemap: true }],
    ["of a server elsewhere", { info: { KernelVersion: "4.4" } }, { kernel: "4.4" }],
    ["without an init", { info: { InitBinary: "" } }, { init: false }],
    ["on ARM", { version: { Arch: "arm64" } }, { arch: "arm64" }],
  ])("Docker %s", async (_, options, facts) => {
    expect(await (await opened(options)).open()).toMatchObject(facts);
  });
});

describe("a container of Docker", () => {
  test("engine.md#client: its requests, from its creation to its removal", async () => {
    const engine = await opened();
    fake.plays.set("a", { output: ["out", { stderr: "err" }], exitCode: 7 });
    const id = await engine.createContainer("a", { Image: "alpine:3", Cmd: ["true"], Labels: { x: "1" } });
    await engine.startContainer(id);
    expect(await engine.waitContainer(id)).toBe(7);
    expect(await written(engine, id)).toEqual({ stdout: "out", stderr: "err" });
    expect(await engine.inspectContainer("a")).toMatchObject({ id, name: "a", state: { exitCode: 7 } });
    expect(await engine.listContainers({ x: "1" })).toMatchObject([{ id, name: "a", status: "exited" }]);
    await engine.killContainer(id, "SIGTERM");
    await engine.removeContainer(id);
    await engine.removeContainer(id);
    const golden = fake.requests.map(({ method, version, path, query }) => {
      const search = new URLSearchParams(query).toString();
      return `${method} ${version && `/v${version}`}${path}${search && `?${search}`}`.replaceAll(id, "ID");
    });
    expect(golden).toEqual([
      "GET /version",
      "GET /v1.52/info",
      "POST /v1.52/containers/create?name=a",
      "POST /v1.52/containers/ID/start",
      "POST /v1.52/containers/ID/wait?condition=not-running",
      "GET /v1.52/containers/ID/logs?stdout=1&stderr=1&follow=0",
      "GET /v1.52/containers/a/json",
      "GET /v1.52/containers/json?all=1&filters=%7B%22label%22%3A%5B%22x%3D1%22%5D%7D",
      "POST /v1.52/containers/ID/kill?signal=SIGTERM",
      "GET /v1.52/containers/ID/json",
      "DELETE /v1.52/containers/ID?force=1&v=1",
      "DELETE /v1.52/containers/ID?force=1&v=1",
      "GET /v1.52/containers/ID/json",
    ]);
    expect(fake.requests[2]?.body).toEqual({ Image: "alpine:3", Cmd: ["true"], Labels: { x: "1" } });
  });

  test("engine.md#names: a taken name is a conflict, and so is a create that failed but did it", async () => {
    const engine = await opened();
    await engine.createContainer("a", { Image: "alpine:3" });
    expect(await errorOf(engine.createContainer("a", { Image: "alpine:3" }))).toMatchObject({
      kind: "conflict",
      status: 409,
    });
    let broken = false;
    fake.override = ({ path, body }, response) => {
      if (path !== "/containers/create" || broken) return false;
      broken = true;
      // The answer is lost, and the container is there.
      void engine.createContainer("b", body as { Image: string }).then(() => response.writeHead(500).end());
      return true;
    };
    expect((await errorOf(engine.createContainer("b", { Image: "alpine:3" }))).kind).toBe("conflict");
    fake.override = ({ method }, response) => method === "POST" && !!response.writeHead(500).end();
    expect((await errorOf(engine.createContainer("c", { Image: "alpine:3" }))).kind).toBe("server");
    expect(await engine.listContainers({})).toHaveLength(2);
  });

  test("engine.md#start: a command that is not there", async () => {
    const engine = await opened();
    const message = 'OCI runtime create failed: exec: "/nope": no such file or directory: unknown';
    fake.plays.set("a", { startError: { status: 400, message } });
    const id = await engine.createContainer("a", { Image: "alpine:3", Cmd: ["/nope"] });
    expect(await errorOf(engine.startContainer(id))).toMatchObject({ kind: "refused", said: message });
    expect((await engine.inspectContainer(id))?.state).toMatchObject({ status: "created", error: message });
  });

  test("an image that is not there", async () => {
    const error = await errorOf((await opened()).createContainer("a", { Image: "none:1" }));
    expect(error).toMatchObject({ kind: "not_found", said: "No such image: none:1" });
  });

  test("engine.md#kill: one that cannot be signaled although it runs is an error", async () => {
    const engine = await opened();
    const id = await engine.createContainer("a", { Image: "alpine:3" });
    await engine.startContainer(id);
    fake.override = ({ path }, response) =>
      path.endsWith("/kill") && !!response.writeHead(409).end('{"message":"no"}');
    expect((await errorOf(engine.killContainer(id, "SIGTERM"))).said).toBe("no");
    fake.container(id).end(0);
    await engine.killContainer(id, "SIGTERM");
  });

  test("a removal that is in progress is fine, another conflict is not", async () => {
    const engine = await opened();
    const id = await engine.createContainer("a", { Image: "alpine:3" });
    fake.container(id).status = "removing";
    await engine.removeContainer(id);
    fake.container(id).status = "exited";
    fake.override = ({ method }, response) => method === "DELETE" && !!response.writeHead(409).end();
    expect((await errorOf(engine.removeContainer(id))).kind).toBe("conflict");
  });

  test("engine.md#inspect: one that goes while podman looks at it is not there", async () => {
    const engine = await opened();
    const text = "container 5f3a does not exist in database: no such container";
    fake.override = ({ path }, response) =>
      path === "/containers/a/json" && !!response.writeHead(500).end(JSON.stringify({ message: text }));
    expect(await engine.inspectContainer("a")).toBeUndefined();
  });

  test("engine.md#half-removed: an engine that cannot say which it is gives the error", async () => {
    const engine = await opened();
    await engine.open();
    const message = `getting container from store "${"a1".repeat(32)}": container not known`;
    fake.override = (_, response) => !!response.writeHead(500).end(JSON.stringify({ message }));
    expect((await errorOf(engine.listContainers({}))).said).toBe(message);
    expect(fake.requests.filter(({ method }) => method === "DELETE")).toEqual([]);
  });

  test("engine.md#errors: the end of an engine cuts a wait, a follow and an input; they go on", async () => {
    const engine = await opened();
    fake.plays.set("a", { output: ["early "] });
    const id = await engine.createContainer("a", { Image: "alpine:3", OpenStdin: true });
    await engine.startContainer(id);
    const wait = errorOf(engine.waitContainer(id));
    const follow = errorOf(written(engine, id, true));
    const input = await engine.attachStdin(id);
    const closed = new Promise((resolve) => input.once("close", resolve));
    await until("all are open", () => fake.requests.filter(({ path }) => path.includes(id)).length === 4);
    await fake.down();
    expect((await wait).kind).toBe("cut");
    expect((await follow).kind).toBe("cut");
    await closed;
    await fake.up();
    const again = engine.waitContainer(id);
    const rest = written(engine, id, true);
    await until("both are open again", () => fake.container(id).listenerCount("output") > 0);
    fake.container(id).write("late");
    fake.container(id).end(3);
    expect(await again).toBe(3);
    expect((await rest).stdout).toBe("early late");
  });

  test("engine.md#client: an open wait and an open follow keep no process alive", async () => {
    const engine = await opened();
    const id = await engine.createContainer("a", { Image: "alpine:3" });
    await engine.startContainer(id);
    const source = JSON.stringify(join(import.meta.dirname, "../../../agent/engine/engine.ts"));
    const program = `
      const { Engine } = await import(${source});
      const engine = new Engine(${JSON.stringify(fake.socketPath)});
      engine.waitContainer("a").catch(() => undefined);
      engine.logs("a", { follow: true }).next().catch(() => undefined);
      await engine.attachStdin("a");
      await engine.listContainers({});
    `;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "inherit" });
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
    const paths = fake.requests.map(({ path }) => path);
    for (const verb of ["wait", "logs", "attach"]) expect(paths).toContain(`/containers/a/${verb}`);
  });

  test("engine.md#hijack: its input ends, and a process beside it has both ways", async () => {
    const engine = await opened();
    fake.execPlays.set("cat", { exitCode: 5, echo: true, output: [{ stderr: "hi" }] });
    const id = await engine.createContainer("a", { Image: "alpine:3", OpenStdin: true });
    await engine.startContainer(id);
    (await engine.attachStdin(id)).end("hello");
    await until("the input has ended", () => fake.container(id).inputEnded);
    expect(fake.container(id).input.toString()).toBe("hello");
    const exec = await engine.createExec(id, { Cmd: ["cat"] });
    const { input, output } = await engine.startExec(exec, { tty: false });
    input.end("back");
    const frames: string[] = [];
    for await (const { stream, data } of output) frames.push(`${stream}:${data}`);
    expect(frames).toEqual(["stderr:hi", "stdout:back"]);
    expect(await engine.inspectExec(exec)).toMatchObject({ running: false, exitCode: 5 });
    await engine.resizeExec(exec, 40, 120);
    expect(fake.execs[0]?.size).toEqual({ rows: 40, columns: 120 });
    fake.container(id).end(0);
    expect((await errorOf(engine.createExec(id, { Cmd: ["cat"] }))).kind).toBe("conflict");
    expect((await errorOf(engine.startExec("none", { tty: false }))).kind).toBe("not_found");
  });
});

describe("engine.md#errors: what is at the socket", () => {
  /** Listens without being an engine. */
  async function server(onConnection: Parameters<typeof createServer>[1]): Promise<Engine> {
    fake = await openFakeEngine();
    const path = join(fake.socketPath, "../other.sock");
    const other: Server = createServer(onConnection);
    await new Promise<void>((resolve) => other.listen(path, resolve));
    onTestFinished(() => void other.close());
    return new Engine(path);
  }
  const answering = (text: string) =>
    server((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(text));
    });
  const http = (body: string, length = body.length) =>
    `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n${body}`;

  test.each<[string, EngineErrorKind, string]>([
    [http("<html><body>Sign in</body></html>"), "not_engine", "<html>"],
    [http('["not what was asked for"]'), "version", "names no version"],
    ["SSH-2.0-OpenSSH_9.2p1\r\n", "not_engine", "does not speak HTTP"],
    [http('{"ApiVersion":', 500), "cut", "ended in the middle"],
    ["", "cut", "ended in the middle"],
  ])("what answers %j is %s", async (text, kind, words) => {
    const error = await errorOf((await answering(text)).open());
    expect(error).toMatchObject({ kind, message: expect.stringContaining(words) });
  });

  test("an answer without end is not read for ever", async () => {
    const engine = await server((socket) => {
      socket.on("error", () => undefined);
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
      const more = () => {
        while (socket.writable && socket.write(Buffer.alloc(65_536, " ")));
      };
      socket.on("drain", more).once("data", more);
    });
    const error = await errorOf(engine.open());
    expect(error).toMatchObject({ kind: "not_engine", message: expect.stringContaining("32 MiB") });
  });

  test("an engine that hangs is given up by whoever is told to stop, and by nobody else", async () => {
    const engine = await opened();
    let answer: (() => void) | undefined;
    fake.override = (_, response) => {
      if (answer !== undefined) return false;
      answer = () => response.writeHead(503).end();
      return true;
    };
    const stop = new AbortController();
    const impatient = errorOf(engine.open(stop.signal));
    const patient = errorOf(engine.listContainers({}));
    await until("it was asked", () => answer);
    stop.abort();
    expect((await impatient).kind).toBe("aborted");
    expect((await errorOf(engine.open(stop.signal))).kind).toBe("aborted");
    answer?.();
    expect(await patient).toMatchObject({ kind: "server", status: 503 });
    await engine.listContainers({});
  });

  test("an answer without the id of what was made is none", async () => {
    const engine = await opened();
    await engine.open();
    fake.override = (_, response) => !!response.writeHead(201).end("{}");
    expect((await errorOf(engine.createContainer("a", { Image: "alpine:3" }))).kind).toBe("not_engine");
  });

  test("no socket, a file, and a path that is too long", async () => {
    await opened();
    const beside = (name: string) => join(fake.socketPath, "..", name);
    writeFileSync(beside("file"), "");
    const at = (path: string) => errorOf(new Engine(path).ping());
    expect((await at(beside("none"))).message).toContain("there is no socket at");
    expect((await at(beside("file"))).message).toContain("is no socket");
    expect((await at(beside("x".repeat(200)))).kind).toBe("unreachable");
    await fake.down();
    expect(await at(fake.socketPath)).toMatchObject({ kind: "unreachable" });
  });

  test("a socket that the agent may not open", () => {
    const trouble = Object.assign(new Error("connect EACCES"), { code: "EACCES" });
    const one = { what: "answer", method: "GET", path: "/_ping", timeoutMs: 1 } as const;
    expect(faultOf(one, trouble, "docker.sock")).toMatchObject({
      kind: "denied",
      message: expect.stringContaining("no right to open the socket at docker.sock"),
    });
  });

  test("an HTML answer of a proxy in between, to any request", async () => {
    const engine = await opened();
    await engine.open();
    fake.override = (_, response) => !!response.writeHead(502).end("<html>Bad Gateway</html>");
    const error = await errorOf(engine.listContainers({}));
    expect(error).toMatchObject({
      kind: "server",
      status: 502,
      message: expect.stringContaining("Bad Gateway"),
    });
    fake.override = (_, response) => !!response.writeHead(200).end("<html>Welcome</html>");
    expect((await errorOf(engine.listContainers({}))).kind).toBe("not_engine");
    const stream = errorOf(written(engine, "a"));
    expect((await stream).kind).toBe("not_engine");
  });
});
