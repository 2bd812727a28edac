import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../local/support/scratch.ts";
import { stop } from "../support/bench.ts";
import { endOf, hostOf, ID, nameOf } from "../support/contained.ts";
import { type Docker, IMAGE, isRoot, openDocker, running } from "../support/docker.ts";
import { FakeContainer, fakeImage } from "../support/fake-containers.ts";

let docker: Docker;

afterEach(() => docker.close());

describe.skipIf(!isRoot)("the life of a container (containers.md#create)", () => {
  beforeEach(async () => {
    docker = await openDocker();
  });
  afterEach(() => expect(docker.fake.containers).toEqual([]));

  test("it is made, started, read, and removed: each once", async () => {
    docker.start();
    const { exit, stdout, stderr } = await docker.run();
    expect([exit?.code, stdout, stderr]).toEqual([0, "out\n", "err\n"]);
    expect(docker.fake.changes()).toEqual([
      "POST /containers/create",
      `POST /containers/${nameOf(docker.bench)}/start`,
      expect.stringMatching(/^DELETE \/containers\/[0-9a-f]{64}$/),
    ]);
  });

  test("its output arrives while it runs, and a stop ends it with its signal first", async () => {
    docker.fake.plays.set("*", { output: ["ready\n"], ignores: ["SIGTERM"] });
    docker.start();
    docker.order();
    const container = await docker.ready();
    docker.bench.plane.order([stop(ID, { timeoutMs: 200 })]);
    const { exit } = await endOf(docker.bench);
    expect([exit?.code, container.signals]).toEqual([137, ["SIGTERM", "SIGKILL"]]);
  });

  test("its input is passed on whole, and ends", async () => {
    docker.fake.plays.set("*", {});
    docker.start();
    const text = "x".repeat(300_000);
    docker.order({ stdin: text });
    const container = await running(docker);
    await until("its input has ended", () => container.inputEnded || undefined);
    expect(container.input.toString() === text).toBe(true);
    container.end(3);
    expect((await endOf(docker.bench)).exit?.code).toBe(3);
  });

  test.each([
    [
      "answered 500",
      (response: { writeHead(status: number): { end(text: string): void } }) =>
        response.writeHead(500).end('{"message":"oops"}'),
    ],
    ["cut off", (response: { socket: { destroy(): void } | null }) => response.socket?.destroy()],
  ])(
    "1: a create that is %s although it has made the container: there is one, which runs once",
    async (_, answer) => {
      let made: FakeContainer | undefined;
      docker.fake.override = ({ path, query, body }, response) => {
        if (path !== "/containers/create" || made !== undefined) return false;
        // It is the body that the agent has sent.
        const wanted = body as FakeContainer["body"];
        made = new FakeContainer(query.name ?? "", wanted, { exitCode: 4 }, fakeImage(IMAGE).id);
        docker.fake.containers.push(made);
        answer(response);
        return true;
      };
      docker.start();
      const { exit } = await docker.run();
      expect([exit?.code, made?.starts]).toEqual([4, 1]);
    },
  );

  test("10: an image that is removed between the pull and the create is pulled again", async () => {
    docker.fake.override = ({ path }) => {
      if (path === "/containers/create" && !docker.fake.changes().includes("POST /images/create"))
        docker.fake.images.pop();
      return false;
    };
    // The registry has another image of this name by now.
    docker.fake.pulls.set(IMAGE, [{ image: fakeImage(IMAGE, { id: `sha256:${"7".repeat(64)}` }) }]);
    docker.start();
    const { exit, attempt } = await docker.run();
    expect([attempt.startError, exit?.code]).toEqual([undefined, 0]);
  });

  test("13: a `docker stop` by somebody else is an end like any other", async () => {
    docker.fake.plays.set("*", { output: ["ready\n"] });
    docker.start();
    docker.order();
    await docker.ready();
    docker.fake.container(nameOf(docker.bench)).signal("SIGTERM");
    expect((await endOf(docker.bench)).exit).toMatchObject({ code: 143, oomKilled: false });
  });

  test("a container that somebody else has removed is lost, and not made up", async () => {
    docker.fake.plays.set("*", { output: ["ready\n"] });
    docker.start();
    docker.order();
    await docker.ready();
    await docker.fake.engine.removeContainer(nameOf(docker.bench));
    const attempt = await docker.bench.plane.untilState(ID, "gone");
    expect([attempt.exit, attempt.startError]).toEqual([undefined, undefined]);
  });

  test("what Docker says of a lack of memory counts", async () => {
    docker.fake.plays.set("*", { output: ["ready\n"] });
    docker.start();
    docker.order();
    await docker.ready();
    docker.fake.container(nameOf(docker.bench)).end(137, { oomKilled: true });
    expect((await endOf(docker.bench)).exit).toMatchObject({ code: 137, oomKilled: true });
  });
});

describe.skipIf(!isRoot)("what Docker says of commands that cannot be started (containers.md#ends)", () => {
  beforeEach(async () => {
    docker = await openDocker();
  });

  const oci =
    "failed to create task for container: failed to create shim task: OCI runtime create failed: " +
    "runc create failed: unable to start container process:";
  test.each([
    ["command_not_found", 400, `${oci} exec: "nope": executable file not found in $PATH: unknown`],
    ["command_not_found", 400, `${oci} exec: "/nope": stat /nope: no such file or directory: unknown`],
    ["not_executable", 400, `${oci} exec: "/etc/passwd": permission denied: unknown`],
    ["not_executable", 400, `${oci} exec /bin/other: exec format error: unknown`],
    ["user_not_found", 400, "unable to find user nobody-here: no matching entries in passwd file"],
    [
      "directory_not_found",
      400,
      `${oci} chdir to cwd ("/nowhere") set in config.json failed: not a directory: unknown`,
    ],
    ["arguments_too_long", 400, `${oci} exec /bin/true: argument list too long: unknown`],
    ["start_failed", 400, 'invalid mount config for type "bind": bind source path does not exist: /data'],
    ["start_failed", 404, "failed to set up container networking: network drover-net not found"],
    ["start_failed", 500, "cannot join network of a non running container: 3f2a"],
  ])("20: %s (%i): an error of the start, once: %s", async (code, status, message) => {
    docker.fake.plays.set("*", { startError: { status, message } });
    docker.start();
    const { attempt } = await docker.run();
    expect([attempt.startError?.code, attempt.startError?.recoverable, attempt.exit]).toEqual([
      code,
      undefined,
      undefined,
    ]);
    expect(docker.fake.changes().filter((change) => change.endsWith("/start"))).toHaveLength(1);
    expect(docker.fake.containers).toEqual([]);
  });

  test.each([
    [127, "[FATAL tini (7)] exec nope failed: No such file or directory\n", "command_not_found"],
    [126, "[FATAL tini (7)] exec /etc/passwd failed: Permission denied\n", "not_executable"],
  ])("an init that ends with %i and says why is such an error", async (exitCode, stderr, code) => {
    docker.fake.plays.set("*", { output: [{ stderr }], exitCode });
    docker.start();
    const { attempt } = await docker.run();
    expect([attempt.startError?.code, attempt.exit]).toEqual([code, undefined]);
  });
});

describe.skipIf(!isRoot)("names (containers.md#names)", () => {
  beforeEach(async () => {
    docker = await openDocker();
  });

  test("2, 15: a container of somebody else with the name is an error that says so, and stays", async () => {
    const others = new FakeContainer(
      nameOf(docker.bench),
      { Image: IMAGE, Labels: {} },
      {},
      fakeImage(IMAGE).id,
    );
    docker.fake.containers.push(others);
    others.start();
    docker.start();
    const { attempt } = await docker.run();
    expect(attempt.startError).toMatchObject({
      code: "engine_failed",
      text: expect.stringContaining(others.name),
    });
    expect([docker.fake.containers, others.running, others.starts]).toEqual([[others], true, 1]);
  });

  test("2: one of ours that somebody removes already is waited for (containers.md#create)", async () => {
    const labels = { "drover.host": hostOf(docker.bench.stateDir), "drover.attempt": ID };
    const left = new FakeContainer(nameOf(docker.bench), { Image: IMAGE, Labels: labels }, {}, "sha256:0");
    left.status = "removing";
    docker.fake.containers.push(left);
    let looks = 0;
    docker.fake.override = ({ method, path }) => {
      const isLook = method === "GET" && path === `/containers/${left.id}/json`;
      if (isLook) looks += 1;
      if (isLook && looks === 3) docker.fake.containers.splice(docker.fake.containers.indexOf(left), 1);
      return false;
    };
    docker.start();
    const { attempt, exit } = await docker.run();
    expect([attempt.startError, exit?.code, left.starts]).toEqual([undefined, 0, 0]);
  });

  test("the same, if it is there only when ours is made", async () => {
    const others = new FakeContainer(
      nameOf(docker.bench),
      { Image: IMAGE, Labels: {} },
      {},
      fakeImage(IMAGE).id,
    );
    others.start();
    docker.fake.override = ({ path }) => {
      if (path === "/containers/create" && !docker.fake.containers.includes(others))
        docker.fake.containers.push(others);
      return false;
    };
    docker.start();
    const { attempt } = await docker.run();
    expect(attempt.startError?.text).toContain("already in use");
    expect([docker.fake.containers, others.running, others.starts]).toEqual([[others], true, 1]);
  });
});
