import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environmentOf } from "../../posix/proc.ts";
import { MAX_SPEC_BYTES } from "../../src/shared/limits.ts";
import { until } from "../local/support/scratch.ts";
import { leftOf } from "../local/support/up-process.ts";
import {
  drover,
  type Ended,
  endDrover,
  livingOf,
  makeHome,
  poolConfigOf,
  type RunningDrover,
  startDrover,
} from "./support/drover.ts";
import type { Json } from "./support/edge.ts";
import { endOf } from "./support/ends.ts";

// What a person is promised, through the built command and over HTTP, on one `drover up` of the built package
// (CONTRIBUTING.md#tests): exit codes as a shell and `docker run` have them, output byte for byte, nothing of
// the agent in the task, nothing of the task left over.

const SECRET = "a secret of the person who typed `drover up`";

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("acceptance");
  up = await startDrover(home, { SECRET_OF_THE_SHELL: SECRET, DROVER_ADMIN_TOKEN: SECRET });
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const cli = (...args: string[]) => drover(home, args);
const run = (...args: string[]) => cli("run", ...args);
const sh = (script: string) => ["--", "sh", "-c", script];
const statusOf = (id: string): Promise<Json> => up.json(200, "GET", `/v1/runs/${id}`);
const text = ({ stdout }: Ended) => stdout.toString();

async function submit(spec: object): Promise<void> {
  await up.json(201, "POST", "/v1/runs", spec);
}

/** Waits until a run has written this to its stdout. */
async function says(id: string, words: string): Promise<void> {
  await until(`${id} says ${words}`, async () => {
    const answer = await up.call("GET", `/v1/runs/${id}/logs/main/stdout`);
    return answer.ok && (await answer.text()).includes(words) ? true : undefined;
  });
}

describe("the output of a run", () => {
  test("comes whole: a million lines, and the exit code 7", async () => {
    const { code, stdout, stderr } = await run(...sh("seq 1 1000000; exit 7"));
    const expected = Buffer.from(Array.from({ length: 1_000_000 }, (_, index) => `${index + 1}\n`).join(""));
    expect({ code, stderr, equal: stdout.equals(expected), bytes: stdout.length }).toEqual({
      code: 7,
      stderr: "",
      equal: true,
      bytes: expected.length,
    });
  });

  test("comes byte for byte, also where it is no text", async () => {
    const bytes = Buffer.from(Array.from({ length: 2_048 }, (_, index) => (index * 7 + (index >> 8)) & 0xff));
    writeFileSync(join(home, "bytes"), bytes);
    const ended = await run("--id", "bytes", ...sh("cat bytes; printf '\\377\\000\\303' >&2"));
    expect(ended.code).toBe(0);
    expect(ended.stdout.equals(bytes)).toBe(true);
    const stderr = await up.call("GET", "/v1/runs/bytes/logs/main/stderr");
    expect([...new Uint8Array(await stderr.arrayBuffer())]).toEqual([0xff, 0x00, 0xc3]);
    expect((await cli("logs", "--stdout", "bytes")).stdout.equals(bytes)).toBe(true);
  });
});

describe("the exit code of `drover run` (api.md#ends-of-a-command and the rules of a shell)", () => {
  test.each([
    { what: "of the command, zero", args: ["--", "true"], code: 0, state: "complete", says: /^$/ },
    { what: "of the command, not zero", args: sh("exit 3"), code: 3, state: "complete", says: /^$/ },
    { what: "above 128 without a signal", args: sh("exit 137"), code: 137, state: "complete", says: /^$/ },
    { what: "of SIGTERM", args: sh("kill -TERM $$"), code: 143, state: "complete", says: /SIGTERM/ },
    { what: "of SIGKILL", args: sh("kill -KILL $$"), code: 137, state: "complete", says: /SIGKILL/ },
    { what: "of SIGINT", args: sh("kill -INT $$"), code: 130, state: "complete", says: /SIGINT/ },
    {
      what: "of a time-out",
      args: ["--timeout", "1s", "--", "sleep", "600"],
      code: 124,
      state: "timedout",
      says: /timeout of 1s/,
    },
    {
      what: "of a command that is not there",
      args: ["--", "no-such-command"],
      code: 127,
      state: "failed",
      says: /no-such-command.*PATH/,
      failure: { class: "task", code: "command_not_found" },
    },
    {
      what: "of a path that is not there",
      args: ["--", "./no/such/file"],
      code: 127,
      state: "failed",
      says: /\.\/no\/such\/file/,
      failure: { class: "task", code: "command_not_found" },
    },
    {
      what: "of a script whose interpreter is missing",
      args: ["--", "./orphan"],
      code: 127,
      state: "failed",
      says: /interpreter/,
      failure: { class: "task", code: "command_not_found" },
    },
    {
      what: "of a file that is no program",
      args: ["--", "/etc/passwd"],
      code: 126,
      state: "failed",
      says: /\/etc\/passwd.*execute/,
      failure: { class: "task", code: "not_executable" },
    },
    {
      what: "of a directory that is not there",
      args: ["--dir", "/no/such/directory", "--", "true"],
      code: 125,
      state: "failed",
      says: /no directory \/no\/such\/directory/,
      failure: { class: "task", code: "directory_not_found" },
    },
    {
      what: "of arguments that the kernel does not take",
      args: ["--", "true", "x".repeat(131_072)],
      // A shell says 126 of E2BIG. This is below the bound of a spec, so the machine is the one to say it.
      code: 126,
      state: "failed",
      says: /arguments/,
      failure: { class: "task", code: "arguments_too_long" },
      overHttp: true,
    },
  ])("$what is $code", async ({ what, args, code, state, says: said, failure, overHttp }) => {
    writeFileSync(join(home, "orphan"), "#!/no/such/interpreter\n", { mode: 0o755 });
    const id = what.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
    if (overHttp === true) {
      // The kernel does not take them here either, so the command line is not the way to bring them in.
      await submit({ id, argv: args.slice(1) });
      expect(await endOf(up, id)).toMatchObject({ state, failure, exitCode: null });
    }
    const ended = overHttp === true ? undefined : await run("--id", id, ...args);
    const status = await statusOf(id);
    expect(status).toMatchObject({ state, exitCode: state === "complete" ? code : null });
    expect(status.failure).toEqual(
      failure === undefined ? null : { ...failure, text: expect.stringMatching(said) },
    );
    if (ended !== undefined) {
      expect({ code: ended.code, stdout: text(ended) }).toEqual({ code, stdout: "" });
      expect(ended.stderr).toMatch(said);
    }
  });
});

describe("what a command sees", () => {
  test("its env, its meta and what Drover tells it, and nothing of the agent or of the shell", async () => {
    const wanted = { id: "sees", argv: ["env", "-0"], env: { CI: "1", WORDS: "two words\nof two lines" } };
    await submit({ ...wanted, meta: { "build.no": "17" }, resources: { vcpus: 2, memory: "128MiB" } });
    expect(await endOf(up, "sees")).toMatchObject({ state: "complete", exitCode: 0 });
    const entries = text(await cli("logs", "sees"))
      .split("\0")
      .slice(0, -1);
    const seen = Object.fromEntries(entries.map((entry) => entry.split(/=(.*)/s).slice(0, 2)));
    // The shell that starts it sets PWD and a few of its own, which say where it is and no more.
    for (const own of ["PWD", "OLDPWD", "SHLVL", "_"]) delete seen[own];
    const instances = join(up.stateDir, "instances");
    expect(seen).toEqual({
      ...wanted.env,
      PATH: expect.stringContaining("/usr/bin"),
      HOME: expect.stringMatching(/^\//),
      USER: expect.stringMatching(/./),
      LANG: "C.UTF-8",
      TMPDIR: expect.stringContaining(instances),
      DROVER_META_BUILD_NO: "17",
      DROVER_META_build_no: "17",
      DROVER_RUN_ID: "sees",
      DROVER_ATTEMPT_ID: "sees/main/1.1",
      DROVER_TASK_NAME: "main",
      DROVER_TASK_DIR: expect.stringContaining(instances),
      DROVER_ALLOC_DIR: expect.stringContaining(instances),
      DROVER_SECRETS_DIR: expect.stringContaining(instances),
      DROVER_VCPUS: "2",
      DROVER_MEMORY_BYTES: String(128 * 2 ** 20),
      DROVER_MEMORY_LIMIT: "128",
      DROVER_INSTANCE: expect.stringContaining(instances),
    });
  });

  test("--env brings a variable in, with a value or as it is here", async () => {
    const args = ["run", "--env", "A=b=c", "--env", "HERE", ...sh('echo "$A $HERE $SECRET_OF_THE_SHELL"')];
    expect(text(await drover(home, args, { HERE: "here" }))).toBe("b=c here \n");
  });

  test("its directory: this one, another, or its own where none is named", async () => {
    expect(text(await run("--", "pwd"))).toBe(`${home}\n`);
    expect(text(await run("--dir", "/usr", "--", "pwd"))).toBe("/usr\n");
    await submit({ id: "own-dir", argv: ["sh", "-c", 'test "$PWD" = "$DROVER_TASK_DIR" && ls -A'] });
    expect(await endOf(up, "own-dir")).toMatchObject({ state: "complete", exitCode: 0 });
    expect(text(await cli("logs", "own-dir"))).toBe("");
  });

  test("an empty stdin", async () => {
    const { code, stdout } = await run(...sh("wc -c"));
    expect([code, stdout.toString().trim()]).toEqual([0, "0"]);
  });
});

describe("machines", () => {
  test("one is warm after a run, and takes the next", async () => {
    const [first, second] = ["warm-1", "warm-2"];
    expect((await run("--id", first, "--", "true")).code).toBe(0);
    expect((await run("--id", second, "--", "true")).code).toBe(0);
    const [before, after] = [await statusOf(first), await statusOf(second)];
    expect(before.placements).toHaveLength(1);
    expect(after.placements[0].worker).toBe(before.placements[0].worker);
  });

  test("200 runs of `true` in one batch all end complete with 0, as a query by label says", async () => {
    const runs = Array.from({ length: 200 }, () => ({ argv: ["true"], labels: { batch: "of-200" } }));
    const { items } = await up.json(201, "POST", "/v1/runs", { runs });
    const query = "/v1/runs?label=batch:of-200&limit=1000";
    const done = await until("all have ended", async () => {
      const list = await up.json(200, "GET", `${query}&state=done&wait=10s`);
      return list.items.length === 200 ? list.items : undefined;
    });
    const ids = (list: Json[]) => list.map(({ id }) => id).sort();
    expect(ids(done)).toEqual(ids(items));
    const ends = new Set(done.map(({ state, exitCode }: Json) => `${state} ${exitCode}`));
    expect([...ends]).toEqual(["complete 0"]);
    expect((await up.json(200, "GET", `${query}&state=pending&state=running`)).items).toEqual([]);
  });
});

describe("a detached run", () => {
  test("prints its id alone, and is found by status, logs, why and ps", async () => {
    const { code, stdout, stderr } = await run("--detach", "--label", "kind=kept", ...sh("echo out; exit 4"));
    const id = stdout.toString().trim();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(id).toMatch(/^[a-z0-9][a-z0-9-]*$/);
    const followed = await cli("logs", "--follow", id);
    expect([followed.code, text(followed)]).toEqual([0, "out\n"]);
    await endOf(up, id);
    expect(text(await cli("status", id))).toMatch(/complete, exit code 4/);
    expect(JSON.parse(text(await cli("status", "--json", id)))).toEqual(await statusOf(id));
    expect(text(await cli("why", id))).toMatch(/complete[\s\S]*nothing: it has ended/);
    const listed = JSON.parse(text(await cli("ps", "--label", "kind=kept", "--all", "--json")));
    expect(listed).toMatchObject([{ id, state: "complete", exitCode: 4, labels: { kind: "kept" } }]);
    expect(text(await cli("ps", "--label", "kind=kept"))).toMatch(new RegExp(`${id} +complete +4 `));
  });

  test("is aborted while it waits in the queue, and its why says what it waits for", async () => {
    const config = await poolConfigOf(up);
    await up.json(201, "PUT", "/v1/pools/closed", { ...config, maxInstances: 0 });
    await run("--detach", "--pool", "closed", "--id", "queued", ...sh("touch queued-has-run"));
    expect(JSON.parse(text(await cli("why", "--json", "queued")))).toMatchObject({
      state: "pending",
      reason: { code: "no_workers", text: expect.stringMatching(/\S/) },
    });
    expect(await statusOf("queued")).toMatchObject({ state: "pending", placements: [] });
    expect(text(await cli("abort", "queued", "--reason", "too slow"))).toBe("queued ended: aborted\n");
    expect(await statusOf("queued")).toMatchObject({ abort: { reason: "too slow" }, placements: [] });
  });

  test("is aborted while its machine boots, and has not run", async () => {
    const config = await poolConfigOf(up);
    const probe = { ...config.probe, boot: "exit 1" };
    await up.json(201, "PUT", "/v1/pools/booting", { ...config, probe });
    await run("--detach", "--pool", "booting", "--id", "boots", ...sh("touch boots-has-run"));
    const [worker] = await until("a machine boots", async () => {
      const { items } = await up.json(200, "GET", "/v1/workers?pool=booting&state=booting");
      return items.length > 0 ? items : undefined;
    });
    const why = JSON.parse(text(await cli("why", "--json", "boots")));
    expect(why).toMatchObject({ state: "pending", reason: { code: "machine_booting" } });
    expect(text(await cli("why", worker.id))).toMatch(/booting/);
    expect(text(await cli("abort", "boots"))).toBe("boots ended: aborted\n");
    expect(await statusOf("boots")).toMatchObject({ state: "aborted", placements: [], startedAt: null });
    await up.json(200, "POST", `/v1/workers/${worker.id}/kill`, {});
  });

  test("is aborted while it runs; one that has ended stays as it is", async () => {
    await run("--detach", "--id", "runs", ...sh("echo begun; exec sleep 600"));
    await says("runs", "begun");
    expect(text(await cli("why", "runs"))).toMatch(/running/);
    expect(text(await cli("ps"))).toMatch(/^runs +running /m);
    expect(text(await cli("abort", "runs"))).toBe("runs ended: aborted\n");
    expect(livingOf(up, "runs")).toEqual([]);
    const aborted = await statusOf("runs");
    expect(aborted).toMatchObject({ state: "aborted", exitCode: null, failure: null });
    expect(text(await cli("logs", "runs"))).toBe("begun\n");
    expect(text(await cli("abort", "runs"))).toBe("runs had already ended: aborted\n");
    expect(await up.json(200, "POST", "/v1/runs/runs/abort", { reason: "again" })).toEqual(aborted);
  });
});

describe("the processes of a run", () => {
  test("in the background do not delay its end, and are gone afterwards", async () => {
    const script = "setsid sh -c 'trap \"\" TERM HUP; sleep 600; :' & (sleep 600 &) ; echo left";
    const ended = await run("--id", "leaves", ...sh(script));
    expect([ended.code, text(ended)]).toEqual([0, "left\n"]);
    expect(livingOf(up, "leaves")).toEqual([]);
  });

  test("that ignore SIGTERM get their kill timeout, are killed, and are gone", async () => {
    const script = "trap '' TERM; echo deaf; while :; do sleep 600; done";
    await run("--detach", "--id", "ignores", "--kill-timeout", "1s", ...sh(script));
    await says("ignores", "deaf");
    expect(text(await cli("abort", "ignores"))).toBe("ignores ended: aborted\n");
    expect(livingOf(up, "ignores")).toEqual([]);
    const { items } = await up.json(200, "GET", "/v1/runs/ignores/events");
    const at = (type: string) => Date.parse(items.find((event: Json) => event.type === type)?.at);
    expect(at("Terminated") - at("Killing")).toBeGreaterThanOrEqual(1_000);
    const { tasks } = await statusOf("ignores");
    expect(tasks[0].attempts[0].exit).toMatchObject({ code: null, signal: "SIGKILL" });
  });
});

describe("what cannot be run is refused with the name of what is wrong, and nothing is stored", () => {
  const LABEL = { bad: "yes" };

  test("100,000 arguments", async () => {
    const argv = ["true", ...Array.from({ length: 100_000 }, () => "a")];
    const problem = await up.json(400, "POST", "/v1/runs", { id: "many", argv, labels: LABEL });
    expect(problem).toMatchObject({ code: "invalid_request", temporary: false });
    expect(JSON.stringify(problem.errors)).toMatch(/argv|256 ?KiB/);
    const refused = await drover(home, ["run", "--id", "many", "--label", "bad=yes", "--", ...argv]);
    expect(refused.code).toBe(125);
    expect(refused.stderr).toMatch(/256 ?KiB/);
    await up.json(404, "GET", "/v1/runs/many");
  });

  test("a spec of one byte more than its bound, and not one at the bound", async () => {
    // Of many arguments, because the kernel takes at most 128 KiB in one.
    const pieces = (bytes: number) => "x".repeat(bytes).match(/.{1,9999}/g) ?? [];
    const spec = (bytes: number) => ({ id: `bound-${bytes}`, argv: ["true", ...pieces(bytes)] });
    let [fits, tooMuch] = [0, MAX_SPEC_BYTES];
    while (tooMuch - fits > 1) {
      const middle = (fits + tooMuch) >> 1;
      const answer = await up.call("POST", "/v1/runs", spec(middle));
      if (answer.status === 400) tooMuch = middle;
      else fits = middle;
    }
    expect(await endOf(up, `bound-${fits}`)).toMatchObject({ state: "complete", exitCode: 0 });
  });

  test.each([
    { what: "an odd id", args: ["--id", "Odd_id"], says: /--id/ },
    { what: "a duration without a unit", args: ["--timeout", "5"], says: /--timeout/ },
    { what: "a pool that is not there", args: ["--pool", "nowhere"], says: /pool/ },
    { what: "more than any machine has", args: ["--cpus", "1000"], says: /cpus|vcpus|CPU/ },
    { what: "an odd name of a variable", args: ["--env", "A-B=c"], says: /--env/ },
    { what: "a flag that does not exist", args: ["--gpu", "1"], says: /--gpu/ },
  ])("$what", async ({ args, says: said }) => {
    const { code, stdout, stderr } = await run("--label", "bad=yes", ...args, "--", "true");
    expect({ code, stdout: stdout.toString() }).toEqual({ code: 125, stdout: "" });
    expect(stderr).toMatch(said);
    expect(stderr).not.toMatch(/\bat .*\.[mt]s:\d/);
  });

  test("a wrong token, and no Drover where one is said to be", async () => {
    const wrong = { DROVER_URL: up.url, DROVER_TOKEN: "drv_wrong" };
    const refused = await drover(home, ["run", "--label", "bad=yes", "--", "true"], wrong);
    expect(refused.code).toBe(125);
    expect(refused.stderr).toMatch(/token/);
    const elsewhere = await drover("/", ["ps"]);
    expect([elsewhere.code, elsewhere.stderr]).toEqual([125, expect.stringMatching(/drover up/)]);
  });

  test("of all of these nothing is stored", async () => {
    expect((await up.json(200, "GET", "/v1/runs?label=bad:yes")).items).toEqual([]);
  });
});

describe("in the end", () => {
  test("no machine is left after the idle time, by all views and by the processes", async () => {
    const config = await poolConfigOf(up);
    const timeouts = { ...config.timeouts, idle: "1s" };
    await up.json(201, "PUT", "/v1/pools/brief", { ...config, timeouts });
    expect((await run("--pool", "brief", "--id", "brief", "--", "true")).code).toBe(0);
    const { items } = await up.json(200, "GET", "/v1/workers?pool=brief");
    expect(items).toHaveLength(1);
    const mark = `DROVER_INSTANCE=${join(up.stateDir, "instances", items[0].instance)}`;
    const counts = () =>
      up.json(200, "GET", "/v1/pools/brief").then(({ workers }) => Object.entries(workers));
    await until(
      "the pool counts no machine",
      async () => (await counts()).every(([state, count]) => state === "gone" || count === 0) || undefined,
    );
    expect(await up.json(200, "GET", "/v1/pools/brief")).toMatchObject({
      queue: { depth: 0, oldestAgeMs: null },
      runs: { pending: 0, running: 0 },
    });
    expect(JSON.parse(text(await cli("workers", "--all", "--pool", "brief", "--json")))).toMatchObject([
      { id: items[0].id, state: "gone", runs: [] },
    ]);
    expect(leftOf(up.stateDir).filter((pid) => environmentOf(pid).includes(mark))).toEqual([]);
  });

  test("Ctrl-C leaves nothing running, and no secret has got into a log", async () => {
    const { token } = up;
    expect(await up.stop()).toBe(0);
    expect(leftOf(up.stateDir)).toEqual([]);
    const log = readFileSync(join(up.stateDir, "worker.log"), "utf8");
    for (const secret of [SECRET, token])
      expect([log.includes(secret), up.said().includes(secret)]).toEqual([false, false]);
  });
});
