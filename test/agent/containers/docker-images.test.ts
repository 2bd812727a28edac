import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../local/support/scratch.ts";
import { run, stop } from "../support/bench.ts";
import { contained, endOf, ID, runToEnd } from "../support/contained.ts";
import { CONTAINER, type Docker, isRoot, openDocker, running } from "../support/docker.ts";
import { fakeImage } from "../support/fake-containers.ts";

const WANTED = "registry.example/tool:2";

let docker: Docker;
beforeEach(async () => {
  docker = await openDocker();
});
afterEach(() => docker.close());

const pulls = () => docker.fake.changes().filter((change) => change === "POST /images/create");
const runWanted = (more = {}) => runToEnd(docker.bench, ["true"], contained(WANTED, more));

describe.skipIf(!isRoot)("pulls that fail (containers.md#images)", () => {
  test.each([
    ["404", "image_missing", undefined, "manifest for registry.example/tool:2 not found: manifest unknown"],
    ["401", "image_denied", undefined, "unauthorized: incorrect username or password"],
    ["429", "image_failed", true, "toomanyrequests: You have reached your pull rate limit."],
    ["5xx", "image_failed", true, "received unexpected HTTP status: 503 Service Unavailable"],
    ["a full disk", "image_failed", undefined, "failed to register layer: write /x: no space left on device"],
    [
      "another architecture",
      "image_missing",
      undefined,
      "no matching manifest for linux/arm64/v8 in the manifest list entries",
    ],
  ])("8: %s: %s, and whether another try may help", async (_, code, recoverable, message) => {
    docker.fake.pulls.set(WANTED, [
      { lines: [{ status: "Pulling" }, { errorDetail: { message }, error: message }] },
    ]);
    docker.start();
    const { attempt } = await runWanted();
    expect(attempt.startError).toMatchObject({ code, text: expect.stringContaining(message) });
    expect(attempt.startError?.recoverable).toBe(recoverable);
    expect([pulls().length, docker.fake.containers]).toEqual([1, []]);
  });

  test("only an image that is missing is pulled, unless the task says never or always", async () => {
    docker.start();
    expect((await docker.run()).exit?.code).toBe(0);
    expect(pulls()).toEqual([]);
    docker.bench.plane.order([
      run("build-18/main/1.1", ["true"], { container: contained(WANTED, { pull: "never" }) }),
    ]);
    const { startError } = await docker.bench.plane.untilState("build-18/main/1.1", "exited");
    expect([startError?.code, pulls()]).toEqual(["image_missing", []]);
    docker.bench.plane.order([
      run("build-19/main/1.1", ["true"], { container: { ...CONTAINER, pull: "always" } }),
    ]);
    await docker.bench.plane.untilStored("build-19/main/1.1");
    expect(pulls()).toHaveLength(1);
  });

  test("9: ten attempts want one image: one pull, ten starts; the stop of one ends no pull", async () => {
    let finish: () => void = () => undefined;
    docker.fake.override = ({ path }, response) => {
      if (path !== "/images/create") return false;
      response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
      finish = () => {
        docker.fake.images.push(fakeImage(WANTED));
        response.end();
      };
      return true;
    };
    docker.start();
    const ids = Array.from({ length: 10 }, (_, n) => `build-${n}/main/1.1`);
    const orders = ids.map((id) => run(id, ["true"], { container: contained(WANTED) }));
    docker.bench.plane.order(orders);
    await until("it is pulled", () => pulls().length > 0 || undefined);
    const [first = "", ...others] = ids;
    docker.bench.plane.order([stop(first), ...orders.slice(1)]);
    const stopped = await docker.bench.plane.until("the first is over", () => {
      const attempt = docker.bench.plane.attempt(first);
      return (attempt?.state === "gone" || attempt?.state === "exited") && attempt;
    });
    expect(stopped.startError).toBeUndefined();
    finish();
    for (const id of others) expect((await docker.bench.plane.untilStored(id)).exit?.code).toBe(0);
    expect(pulls()).toHaveLength(1);
    expect(docker.fake.changes().filter((change) => change.endsWith("/start"))).toHaveLength(9);
  });
});

describe.skipIf(!isRoot)("secrets of a container (containers.md#registry)", () => {
  const PASSWORD = "swordfish-of-the-registry";
  const TOKEN = "correct-horse-battery";

  test("19: files and the registry's credentials are nowhere but where they belong", async () => {
    docker.bench.plane.secrets[ID] = {
      "drover.registry": Buffer.from(`robot:${PASSWORD}`),
      TOKEN: Buffer.from(TOKEN),
    };
    docker.fake.pulls.set(WANTED, [{}]);
    docker.fake.plays.set("*", {});
    const agent = docker.start();
    const secrets = {
      "drover.registry": { secret: "registry", as: "file" as const },
      TOKEN: { secret: "deploy", as: "file" as const },
    };
    docker.bench.plane.order([
      run(ID, ["true"], { container: contained(WANTED, { auth: "registry" }), secrets }),
    ]);
    const container = await running(docker);
    const auth = docker.fake.requests.find(({ path }) => path === "/images/create")?.headers[
      "x-registry-auth"
    ];
    expect(Buffer.from(String(auth), "base64url").toString()).toContain(PASSWORD);
    const given = JSON.stringify([
      container.body,
      container.inspect(),
      docker.fake.requests.map(({ body, path, query }) => [body, path, query]),
    ]);
    const kept = textsBelow(docker.bench.stateDir);
    container.end(0);
    await endOf(docker.bench);
    const told = JSON.stringify(docker.bench.plane.reports);
    for (const secret of [PASSWORD, String(auth), Buffer.from(`robot:${PASSWORD}`).toString("base64")]) {
      expect([given, kept, told, agent.stderr()].filter((text) => text.includes(secret))).toEqual([]);
    }
    expect([given, told, agent.stderr()].filter((text) => text.includes(TOKEN))).toEqual([]);
    expect(given).toContain("DROVER_SECRETS_DIR=");
  });
});

/** All that the files below a directory say. */
function textsBelow(dir: string): string {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1")).join("\n");
}
