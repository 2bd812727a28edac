import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bridgeWords } from "../../../agent/containers/bridge.ts";
import { until } from "../../local/support/scratch.ts";
import { run } from "../support/bench.ts";
import { ID, nameOf } from "../support/contained.ts";
import { CONTAINER, type Docker, isRoot, openDocker, running } from "../support/docker.ts";

let docker: Docker;
const info: Record<string, unknown> = {};
beforeEach(async () => {
  for (const name of Object.keys(info)) delete info[name];
  docker = await openDocker({ info });
});
afterEach(() => docker.close());

describe.skipIf(!isRoot)("what a host says of itself (containers.md#engines)", () => {
  test("an engine that was refused is taken once it is set up in another way", async () => {
    info.SecurityOptions = ["name=userns"];
    docker.start();
    expect((await docker.engineThat(({ state }) => state === "refused")).fault).toContain("userns-remap");
    info.SecurityOptions = [];
    await docker.engineThat(({ state }) => state === "usable");
    expect((await docker.run()).exit?.code).toBe(0);
  });

  test.each([
    ["env", true],
    ["file", undefined],
  ] as const)("a secret as %s in a container is on the disk: %s (secrets.md#files)", async (as, isOnDisk) => {
    docker.bench.plane.secrets[ID] = { KEY: Buffer.from("correct-horse-battery") };
    docker.fake.plays.set("*", {});
    docker.start();
    docker.bench.plane.order([
      run(ID, ["true"], { container: CONTAINER, secrets: { KEY: { secret: "deploy", as } } }),
    ]);
    const container = await running(docker);
    expect((await docker.bench.plane.untilState(ID, "running")).secretsOnDisk).toBe(isOnDisk);
    container.end(0);
    await docker.bench.plane.untilState(ID, "exited");
  });
});

test("a command beside a container that loses its engine was started (containers.md#inside)", async () => {
  docker.fake.execPlays.set("*", { exitCode: 0, echo: true });
  docker.fake.plays.set("*", {});
  docker.start();
  docker.order();
  await running(docker);
  const ask = { socket: docker.fake.socketPath, container: nameOf(docker.bench), env: [], terminal: false };
  const program = [process.execPath, join(docker.bench.dir, "drover-agent.mjs")];
  const [file = "", ...args] = bridgeWords(program, { ...ask, argv: ["cat"] });
  const bridge = spawn(file, args, { stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  bridge.stderr.on("data", (text) => {
    said += text;
  });
  const ended = new Promise((resolve) => bridge.once("close", resolve));
  const answered = new Promise((resolve) => bridge.stdout.once("data", resolve));
  bridge.stdin.write("hello\n");
  await answered;
  await docker.fake.down();
  expect(await ended).toBe(126);
  expect(said).toContain("its end is not known");
  expect(said).not.toContain("could not be started");
  await docker.fake.up();
  docker.fake.container(nameOf(docker.bench)).end(0);
  await until("it is over", () => docker.bench.plane.attempt(ID)?.state === "exited" || undefined);
});
