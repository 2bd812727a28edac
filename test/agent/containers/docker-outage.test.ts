import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../local/support/scratch.ts";
import { kill, run, task } from "../support/bench.ts";
import { endOf, ID, nameOf } from "../support/contained.ts";
import { CONTAINER, type Docker, isRoot, openDocker, running } from "../support/docker.ts";
import type { FakeEngineOptions } from "../support/fake-engine.ts";

let docker: Docker;

/** The engine does not list its containers, as on a machine that is too busy to answer in time. */
const withoutList: Docker["fake"]["override"] = ({ path }, response) =>
  path === "/containers/json" && !!response.writeHead(500).end("{}");

afterEach(() => docker.close());

describe.skipIf(!isRoot)("an engine that fails in the middle (containers.md#outage)", () => {
  beforeEach(async () => {
    docker = await openDocker();
  });

  test("output that breaks off again and again arrives once", async () => {
    docker.fake.plays.set("*", { output: ["one\n"] });
    docker.fake.override = ({ path, query }, response) => {
      if (!path.endsWith("/logs") || query.follow !== "1") return false;
      const { frames } = docker.fake.container(nameOf(docker.bench));
      const bytes = Buffer.concat(frames);
      // In the middle of a frame.
      response.writeHead(200).write(bytes.subarray(0, bytes.length - 3), () => response.socket?.destroy());
      return true;
    };
    docker.start();
    docker.order();
    const container = await running(docker);
    for (const word of ["two", "three", "four"]) {
      const calls = docker.fake.requests.filter(({ path }) => path.endsWith("/logs")).length;
      container.write(`${word}\n`);
      await until(
        "it was read again",
        () => docker.fake.requests.filter(({ path }) => path.endsWith("/logs")).length > calls || undefined,
      );
    }
    container.end(0);
    expect((await endOf(docker.bench)).stdout).toBe("one\ntwo\nthree\nfour\n");
  });

  test("output that is followed and never comes is read once the container has ended", async () => {
    docker.fake.plays.set("*", {});
    docker.fake.override = ({ path, query }, response) => {
      if (!path.endsWith("/logs") || query.follow !== "1") return false;
      response.writeHead(200).flushHeaders();
      return true;
    };
    docker.start();
    docker.order();
    const container = await running(docker);
    await until(
      "it is followed",
      () => docker.fake.requests.some(({ path }) => path.endsWith("/logs")) || undefined,
    );
    container.write("all of it\n");
    container.end(5);
    const { exit, stdout } = await endOf(docker.bench);
    expect([exit?.code, stdout, exit?.message]).toEqual([5, "all of it\n", ""]);
  });

  test("a start that is cut off although it has begun is watched, and not begun twice", async () => {
    docker.fake.plays.set("*", {});
    docker.fake.override = ({ path }, response) => {
      if (!path.endsWith("/start")) return false;
      docker.fake.container(nameOf(docker.bench)).start();
      // Nobody can ask what has become of it, either.
      void docker.fake.down();
      response.socket?.destroy();
      return true;
    };
    docker.start();
    docker.order();
    const container = await running(docker);
    await docker.bench.plane.untilState(ID, "running");
    await docker.fake.up();
    container.write("late\n");
    container.end(6);
    const { exit, stdout } = await endOf(docker.bench);
    expect([exit?.code, stdout, container.starts]).toEqual([6, "late\n", 1]);
  });

  test("answers that no engine gives are an error of the start that another try may help", async () => {
    docker.fake.override = ({ path }, response) => {
      if (path !== "/containers/create") return false;
      response.writeHead(200, { "content-type": "text/html" }).end("<html>proxy</html>");
      return true;
    };
    docker.start();
    const { attempt } = await docker.run();
    expect(attempt.startError).toMatchObject({ code: "engine_failed", recoverable: true });
    expect(attempt.startError?.text).toContain("<html>proxy");
  });

  test("it goes away and comes back: the host says so, and its runs go on", async () => {
    docker.fake.plays.set("*", { output: ["ready\n"] });
    docker.start();
    docker.order();
    const container = await docker.ready();
    await docker.fake.down();
    const down = await docker.engineThat(({ state }) => state === "down");
    expect(down).toMatchObject({
      name: "docker",
      version: "29.0.0",
      fault: expect.stringContaining("Start the engine"),
    });
    expect(docker.bench.plane.attempt(ID)?.state).toBe("running");
    container.write("meanwhile\n");
    container.end(0);
    await docker.fake.up();
    expect(await docker.engineThat(({ state }) => state === "usable")).toMatchObject({ fault: null });
    const { exit, stdout } = await endOf(docker.bench);
    expect([exit?.code, stdout]).toEqual([0, "ready\nmeanwhile\n"]);
  });

  test("an exit that an agent knew when it was killed stays as it was", async () => {
    docker.fake.plays.set("*", { output: ["out\n"], exitCode: 7 });
    // It cannot remove the container, so the exit is not yet reported.
    docker.fake.override = ({ method }) => method === "DELETE";
    const agent = docker.start();
    docker.order();
    const asked = () => docker.fake.requests.some(({ method }) => method === "DELETE") || undefined;
    await until("it removes the container", asked);
    await kill(agent);
    docker.fake.override = undefined;
    docker.start();
    const { exit, stdout } = await endOf(docker.bench);
    expect([exit?.code, stdout, docker.fake.containers]).toEqual([7, "out\n", []]);
  });

  test("an exit that an agent knew is told only with the output that no agent has copied yet", async () => {
    docker.fake.plays.set("*", { output: ["ready\n"] });
    const first = docker.start();
    docker.order();
    const container = await docker.ready();
    await kill(first);
    container.write("later\n");
    container.end(6);
    docker.fake.override = ({ path }) => path.endsWith("/logs");
    const reports = docker.bench.plane.reports.length;
    const second = docker.start();
    await docker.bench.plane.until("it has reported", () => docker.bench.plane.reports.length > reports);
    await kill(second);
    docker.fake.override = withoutList;
    docker.start();
    const { exit, stdout } = await endOf(docker.bench);
    expect([exit?.code, stdout, container.starts]).toEqual([6, "ready\nlater\n", 1]);
  });

  test("what was never asked to start begins with the next agent, who knows nothing", async () => {
    docker.fake.override = ({ path }) => path === "/containers/create";
    const agent = docker.start();
    docker.order();
    const asked = () => docker.fake.requests.some(({ path }) => path === "/containers/create") || undefined;
    await until("it asks for the container", asked);
    await kill(agent);
    docker.fake.override = withoutList;
    docker.start();
    const { attempt, exit } = await endOf(docker.bench);
    expect([attempt.startError, exit?.code]).toEqual([undefined, 0]);
  });

  test("an agent that starts while it is away adopts what runs once it is back", async () => {
    docker.fake.plays.set("*", { output: ["ready\n"] });
    const agent = docker.start();
    docker.order();
    await docker.ready();
    await kill(agent);
    const container = docker.fake.container(nameOf(docker.bench));
    await docker.fake.down();
    const reports = docker.bench.plane.reports.length;
    docker.start();
    await docker.bench.plane.until("it has reported", () => docker.bench.plane.reports.length > reports + 1);
    expect(docker.bench.plane.attempt(ID)?.state).toBe("running");
    await docker.fake.up();
    container.write("later\n");
    container.end(8);
    const { exit, stdout } = await endOf(docker.bench);
    expect([exit?.code, stdout, container.starts]).toEqual([8, "ready\nlater\n", 1]);
  });
});

describe.skipIf(!isRoot)("which engines take containers (containers.md#engines)", () => {
  test.each([
    ["1.44", { newest: "1.44", least: "1.24" }, "1.44"],
    ["1.41, as podman 4 and Docker 20.10", { newest: "1.41", least: "1.12" }, "1.41"],
    ["1.52", { newest: "1.52", least: "1.44" }, "1.52"],
    ["a newer one than Drover knows", { newest: "1.66", least: "1.44" }, "1.52"],
  ])("14: version %s of the API works", async (_, options, api) => {
    docker = await openDocker(options);
    docker.start();
    expect((await docker.run()).exit?.code).toBe(0);
    expect(await docker.engineThat(({ state }) => state === "usable")).toMatchObject({
      api,
      name: "docker",
      logs: "text",
    });
    expect(new Set(docker.fake.requests.map(({ version }) => version))).toEqual(new Set(["", api]));
  });

  test.each([
    ["14: one that speaks only newer versions", { newest: "1.99", least: "1.90" }, "update Drover"],
    ["14: one that speaks only older versions", { newest: "1.40", least: "1.12" }, "install Docker 20.10"],
    ["Docker Desktop", { info: { OperatingSystem: "Docker Desktop" } }, "Docker Desktop"],
    ["one without root", { info: { SecurityOptions: ["name=rootless"] } }, "rootless"],
    ["one of another machine", { info: { KernelVersion: "4.2.0-other" } }, "another machine"],
    ["one for Windows", { info: { OSType: "windows" } }, "not of Linux"],
    ["one without cgroups", { info: { CgroupDriver: "none" } }, "no cgroups"],
  ])(
    "%s is refused, with the reason, and commands run all the same",
    async (_, options: FakeEngineOptions, fault) => {
      docker = await openDocker(options);
      docker.start();
      const engine = await docker.engineThat(({ state }) => state === "refused");
      expect(engine.fault).toContain(fault);
      const plain = "build-18/main/1.1";
      docker.bench.plane.order([
        { id: ID, want: "run", task: task(["true"], { container: CONTAINER }) },
        run(plain, ["sh", "-c", "exit 3"]),
      ]);
      expect((await docker.bench.plane.untilStored(plain)).exit?.code).toBe(3);
      const { startError } = await docker.bench.plane.untilState(ID, "exited");
      expect(startError).toMatchObject({ code: "engine_failed", recoverable: true });
      expect(startError?.text).toContain(fault);
      expect(docker.fake.containers).toEqual([]);
    },
  );

  test("a socket that is there only later is found", async () => {
    docker = await openDocker();
    await docker.fake.down();
    docker.start();
    expect((await docker.engineThat(({ state }) => state === "down")).fault).toContain("Start the engine");
    await docker.fake.up();
    await docker.engineThat(({ state }) => state === "usable");
    expect((await docker.run()).exit?.code).toBe(0);
  });

  test("what is no socket is said", async () => {
    docker = await openDocker();
    await docker.fake.down();
    const path = `${docker.fake.socketPath}.txt`;
    writeFileSync(path, "");
    docker.bench.start({}, ["--engine", path]);
    expect((await docker.engineThat(({ state }) => state === "down")).fault).toContain("no socket");
  });
});
