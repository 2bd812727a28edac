import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Job, JobSkip, JobTick } from "../../client/types.ts";
import { HIDDEN } from "../../src/shared/access/hidden.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, type Seen, statusOf, summaryOf } from "./support/control-plane.ts";

// What `drover jobs` sends and says. Real jobs: test/edge/jobs-command.test.ts.

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const AT = "2026-11-21T08:30:00.000Z";

const tick = (hour: string): JobTick => ({
  at: `2026-11-22T${hour}:30:00.000Z`,
  local: `2026-11-22T${hour}:30:00+00:00`,
  startAt: `2026-11-22T${hour}:30:00.000Z`,
  run: `nightly-at-20261122t${hour}30z`,
});

const skip: JobSkip = {
  ...{ from: tick("00").at, to: tick("00").at, count: 1, reason: "paused", text: "the job was paused" },
  at: "2026-11-22T00:30:01.000Z",
};

const fields = {
  description: "",
  spec: { argv: ["make", "${param.target}"] },
  params: { target: { type: "string" }, level: { type: "integer" }, dry: { type: "boolean" } },
  schedule: { cron: "30 * * * *", zone: "UTC", jitter: "0s", overlap: "skip", missed: "one", catchUp: "1h" },
} satisfies Partial<Job>;

const job: Job = {
  ...{ name: "nightly", project: "default", pool: "default", version: 3, ...fields, paused: null },
  ...{ createdAt: AT, createdBy: "token:ops", changedAt: AT, changedBy: "token:ops" },
  ...{ next: [tick("01")], waiting: [], skips: [] },
};

const said = async (...args: string[]) => {
  const { code, stdout, stderr } = await bench.run(["jobs", ...args]);
  return { code, stdout: stdout.toString(), stderr };
};

/** A control plane that has this job, and that would store these fields. */
function serve(shown: Job | undefined = job, stored: object = fields): Seen[] {
  const { plane } = bench;
  plane.on("GET", /^\/v1\/jobs\/nightly$/, (_seen, res) => json(res, 200, shown));
  plane.on("GET", /^\/v1\/runs$/, (_seen, res) => json(res, 200, { items: [], next: null, service: [] }));
  plane.on("POST", /preview$/, (_seen, res) =>
    json(res, 200, { items: [tick("01"), tick("02")], fields: stored }),
  );
  plane.on("PUT", /jobs/, (_seen, res) => json(res, 200, { ...job, version: 4 }));
  plane.on("GET", /ticks$/, (_seen, res) => json(res, 200, { items: [tick("01"), tick("02")] }));
  return plane.seen;
}

/** A control plane that does not have the job yet. */
function serveNone(): Seen[] {
  const seen = serve();
  bench.plane.on("GET", /^\/v1\/jobs\/nightly$/, (_seen, res) => problem(res, 404, "unknown_job"));
  return seen;
}

function describeJob(described: unknown): void {
  writeFileSync(join(bench.dir, "job.json"), JSON.stringify(described));
}

describe("apply (jobs.md#put)", () => {
  test("shows a new job and its next ticks, and with --dry-run stores nothing", async () => {
    const seen = serveNone();
    describeJob({ name: "nightly", ...fields });
    const { code, stdout, stderr } = await said("apply", "--dry-run", "job.json");
    expect([code, stderr]).toEqual([0, "drover: nothing was stored: this was --dry-run\n"]);
    expect(stdout).toMatch(
      /^Job nightly is new\n\nTICK +LOCAL +RUN\n2026-11-22T01:30:00.000Z .* nightly-at-/,
    );
    expect(seen.map(({ method }) => method)).not.toContain("PUT");
    expect(seen.find(({ method }) => method === "POST")?.body).toEqual({ fields, count: 10 });
  });

  test("shows which fields differ, and stores them with --yes", async () => {
    const changed = { ...fields, description: "the build" };
    const seen = serve(job, changed);
    describeJob({ name: "nightly", ...changed });
    const { code, stdout } = await said("apply", "--yes", "job.json");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Job nightly, now version 3, changes\n\nFIELD +BEFORE +AFTER\n/);
    expect(stdout).toMatch(/^\/description +"" +"the build"$/m);
    expect(stdout).toMatch(/^Job nightly is as the file says, version 4$/m);
    expect(seen.find(({ method }) => method === "PUT")?.body).toEqual(changed);
  });

  test("leaves a job alone that is as the file says", async () => {
    const seen = serve();
    describeJob([{ name: "nightly", ...fields }]);
    const { stdout } = await said("apply", "job.json");
    expect(stdout).toBe("Job nightly is already as the file says, version 3\n");
    expect(seen.map(({ method }) => method)).not.toContain("PUT");
  });

  test("stores nothing where nobody can be asked, and says how to agree", async () => {
    const seen = serveNone();
    describeJob({ name: "nightly", ...fields });
    const { code, stderr } = await said("apply", "job.json");
    const words = "drover: Nobody can be asked here.\n  Confirm with --yes. No job was stored.\n";
    expect([code, stderr]).toEqual([125, words]);
    expect(seen.map(({ method }) => method)).not.toContain("PUT");
  });

  test.each([
    [true, "paused or resumed", 125],
    [undefined, undefined, 0],
  ])(
    "a pause of somebody else since it was shown counts for a file that says paused %s",
    async (paused, words, code) => {
      const seen = serve({ ...job, paused: { at: AT, by: "token:other" } }, { ...fields, description: "x" });
      bench.plane.on("GET", /^\/v1\/jobs\/nightly$/, (_seen, res) => json(res, 200, job), 1);
      describeJob({ name: "nightly", ...fields, description: "x", paused });
      const said_ = await said("apply", "--yes", "job.json");
      expect(said_.code).toBe(code);
      if (words !== undefined)
        expect(said_.stderr).toContain(`Somebody has ${words} the job nightly meanwhile.`);
      expect(seen.some(({ method }) => method === "PUT")).toBe(code === 0);
    },
  );

  test("names a wrong field as the file has it", async () => {
    serveNone();
    const errors = [{ pointer: "/fields/schedule/zone", detail: "is not a time zone" }];
    bench.plane.on("POST", /preview$/, (_seen, res) => problem(res, 400, "invalid_request", { errors }));
    describeJob({ name: "nightly", ...fields });
    expect((await said("apply", "--yes", "job.json")).stderr).toBe(
      "drover: Drover does not accept the job nightly in job.json:\n" +
        "  /schedule/zone: is not a time zone\n  No job was stored.\n",
    );
  });

  test("says that values which are hidden cannot be compared (access.md#hidden-values)", async () => {
    const withEnv = (TOKEN: string) => ({ ...fields, spec: { ...fields.spec, env: { TOKEN } } });
    serve({ ...job, ...withEnv(HIDDEN) }, withEnv("x"));
    describeJob({ name: "nightly", ...withEnv("x") });
    const { stdout } = await said("apply", "--dry-run", "job.json");
    expect(stdout).toMatch(/^\/spec\/env\/TOKEN +"\[hidden: .*"x"\nWhat is hidden cannot be compared/m);
  });

  test("does not store over what somebody else has changed since it was shown", async () => {
    const seen = serve(job, { ...fields, description: "x" });
    const changed = { ...job, version: 5 };
    bench.plane.on("GET", /^\/v1\/jobs\/nightly$/, (_seen, res) => json(res, 200, changed));
    bench.plane.on("GET", /^\/v1\/jobs\/nightly$/, (_seen, res) => json(res, 200, job), 1);
    describeJob({ name: "nightly", ...fields, description: "x" });
    const { code, stderr } = await said("apply", "--yes", "job.json");
    expect([code, stderr]).toEqual([
      125,
      expect.stringMatching(/^drover: Somebody has changed the job nightly/),
    ]);
    expect(seen.map(({ method }) => method)).not.toContain("PUT");
  });

  const PAUSED: Job["paused"] = { at: AT, by: "token:ops" };
  test.each<[string, Job | undefined, boolean | undefined, RegExp, boolean | undefined | "none"]>([
    ["a new job, paused", undefined, true, /It is paused by this\.$/m, true],
    ["a job that is not", job, true, /^\/paused +false +true$[\s\S]*It is paused by this\.$/m, true],
    ["a paused job, which is resumed", { ...job, paused: PAUSED }, false, /It is resumed by this:/, false],
    [
      "a paused job, by a file that says so",
      { ...job, paused: PAUSED },
      true,
      /already as the file says/,
      "none",
    ],
    ["a paused job, by a file that says nothing", { ...job, paused: PAUSED }, undefined, /already/, "none"],
  ])("takes a pause to %s (jobs.md#paused)", async (_title, present, paused, words, sent) => {
    const seen = present === undefined ? serveNone() : serve(present);
    describeJob({ name: "nightly", ...fields, paused });
    const { code, stdout } = await said("apply", "--yes", "job.json");
    expect([code, stdout]).toEqual([0, expect.stringMatching(words)]);
    const puts = seen.filter(({ method }) => method === "PUT").map(({ body }) => Object(body).paused);
    expect(puts).toEqual(sent === "none" ? [] : [sent]);
  });

  test("says which job was refused, and that those before it are stored", async () => {
    const described = ["first", "second"].map((name) => ({ name, ...fields }));
    bench.plane.on("GET", /^\/v1\/jobs\//, (_seen, res) => problem(res, 404, "unknown_job"));
    bench.plane.on("POST", /preview$/, (_seen, res) => json(res, 200, { items: [], fields }));
    bench.plane.on("PUT", /first$/, (_seen, res) => json(res, 201, { ...job, name: "first", version: 1 }));
    bench.plane.on("PUT", /second$/, (_seen, res) => problem(res, 404, "unknown_pool"));
    describeJob(described);
    const { code, stdout, stderr } = await said("apply", "--yes", "--json", "job.json");
    expect([code, stderr]).toEqual([
      125,
      "drover: The job second in job.json was not stored: it is unknown_pool\n" +
        "  Those before it are stored. The same command stores the rest.\n",
    ]);
    expect(JSON.parse(stdout)).toMatchObject([{ stored: true }, { stored: false }]);
  });

  test("asks nothing with --json, which shows nothing before", async () => {
    describeJob({ name: "nightly", ...fields });
    const { code, stderr } = await said("apply", "--json", "job.json");
    expect([code, stderr]).toEqual([
      125,
      expect.stringContaining("Add --yes to store, or --dry-run to look"),
    ]);
    expect(bench.plane.seen).toEqual([]);
  });

  const CIRCLE = ["a", "b", "c", "d"].map((name, at, all) => ({
    ...{ name, spec: { argv: ["x"], after: [{ job: all[(at + 1) % 4] }] } },
  }));
  test.each<[string, unknown, RegExp]>([
    ["jobs in a circle", CIRCLE, /^drover: These jobs wait for each other in a circle: .*a after b after c/],
    [
      "a pause that is none",
      { name: "a", paused: "yes" },
      /^drover: `paused` of the job a in job\.json must/,
    ],
    ["no name", { spec: {} }, /^drover: A job in job\.json has no name\.\n/],
    ["no object", [5], /^drover: job\.json must hold a JSON object that describes a job/],
    ["one name twice", [{ name: "a" }, { name: "a" }], /^drover: The job a is described twice in job\.json/],
  ])("refuses a file with %s, before it asks Drover", async (_title, described, words) => {
    describeJob(described);
    const { code, stderr } = await said("apply", "job.json");
    expect(code).toBe(125);
    expect(stderr).toMatch(words);
    expect(bench.plane.seen).toEqual([]);
  });
});

/** Answers a trigger with a run that ends with 3. `found`: it was there before. */
function serveTrigger(found = false): void {
  bench.plane.on("POST", /trigger$/, ({ body }, res) => {
    const { tick: at, key }: { tick?: string; key?: string } = Object(body);
    const id = at === undefined ? `nightly-by-${key}` : `nightly-at-${Date.parse(at)}`;
    const run = statusOf(id, { state: "complete", exitCode: 3 });
    bench.plane.runs.set(id, run);
    json(res, found ? 200 : 201, run, found ? {} : { location: `/v1/runs/${id}` });
  });
}

const triggers = (seen: readonly Seen[]) =>
  seen.filter(({ path }) => path.endsWith("/trigger")).map(({ body }) => body);

describe("trigger (jobs.md#trigger)", () => {
  test("case 25: sends values with the types that the job declares, byte for byte", async () => {
    const seen = serve();
    serveTrigger();
    const values = ["--param", 'target="; rm -rf /"', "--param", "level=07", "--param", "dry=true"];
    const { code, stdout } = await said("trigger", "nightly", ...values, "--key", "k1", "--detach");
    expect([code, stdout]).toEqual([0, "nightly-by-k1\n"]);
    const params = { target: '"; rm -rf /"', level: 7, dry: true };
    expect(triggers(seen)).toEqual([{ key: "k1", params }]);
  });

  test("case 25: sends a payload byte for byte, and none that is too large", async () => {
    const seen = serve();
    serveTrigger();
    const bytes = Buffer.from(Array.from({ length: 64 * 1024 }, (_, at) => at % 256));
    writeFileSync(join(bench.dir, "payload"), bytes);
    expect((await said("trigger", "nightly", "--payload", "payload", "--detach")).code).toBe(0);
    expect(triggers(seen)).toMatchObject([{ payload: bytes.toString("base64") }]);
    writeFileSync(join(bench.dir, "payload"), Buffer.concat([bytes, Buffer.from("x")]));
    const refused = await said("trigger", "nightly", "--payload", "payload", "--detach");
    expect(refused.stderr).toMatch(
      /^drover: The payload is larger than 64KiB, the most that it may have\.\n/,
    );
    expect(triggers(seen)).toHaveLength(1);
  });

  test("without a key chooses one, so that a repeated request makes no second run", async () => {
    const seen = serve();
    serveTrigger();
    expect((await said("trigger", "nightly", "--detach")).code).toBe(0);
    expect(triggers(seen)).toMatchObject([{ key: expect.stringMatching(/^[a-z0-9]{16}$/) }]);
  });

  test("is followed, and ends with the exit code of the command", async () => {
    serve();
    serveTrigger();
    bench.plane.logs.stdout = Buffer.from("out\n");
    const { code, stdout } = await said("trigger", "nightly", "--key", "k1");
    expect([code, stdout]).toEqual([3, "out\n"]);
  });

  test("says that it has found the run of an earlier trigger", async () => {
    serve();
    serveTrigger(true);
    expect(await said("trigger", "nightly", "--key", "k1", "--detach")).toEqual({
      code: 0,
      stdout: "nightly-by-k1\n",
      stderr: "drover: Run nightly-by-k1 exists already: this is that run.\n",
    });
  });

  test("names what is refused by its flags", async () => {
    serve();
    const errors = [{ pointer: "/params/level", detail: "must be a whole number" }];
    bench.plane.on("POST", /trigger$/, (_seen, res) => problem(res, 400, "invalid_request", { errors }));
    expect((await said("trigger", "nightly", "--param", "level=x")).stderr).toBe(
      "drover: The job nightly does not accept this:\n  --param level: must be a whole number\n",
    );
  });

  test.each([
    "2026-02-30T00:00:00Z",
    "2026-09-31T10:00:00+02:00",
    "2026-02-28T24:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-11-22T01:30:00",
  ])("refuses a date that does not exist: %s", async (text) => {
    const tick_ = await said("trigger", "nightly", "--tick", text);
    const since = await said("trigger", "nightly", "--since", text);
    expect([tick_.code, since.code]).toEqual([125, 125]);
    expect(tick_.stderr).toContain("It must be an instant with its offset");
    expect(since.stderr).toContain("It must be a duration such as 2h");
    expect(bench.plane.seen).toEqual([]);
  });

  test("refuses what is no tick, with the next one", async () => {
    serve();
    const { code, stderr } = await said("trigger", "nightly", "--tick", "2026-11-22T01:00:00+01:00");
    expect(code).toBe(125);
    expect(stderr).toMatch(
      /^drover: 2026-11-22T00:00:00.000Z is no tick of the job nightly\.\n {2}The next one/,
    );
  });

  test.each<[string[], string]>([
    [["--key", "a", "--tick", AT], "--key and --tick cannot be combined."],
    [["--until", "1h"], "--until and --max-parallel need --since."],
    [
      ["--since", "2h", "--key", "a"],
      "--since triggers many ticks: it cannot be combined with --key or --tick.",
    ],
    [["--since", "1h", "--until", "2h"], "--since is not before --until."],
    [["--since", "0s"], "--since has not come yet."],
  ])("refuses %j", async (flags, words) => {
    serve();
    const { code, stderr } = await said("trigger", "nightly", ...flags);
    expect(code).toBe(125);
    expect(stderr).toContain(`drover: ${words}\n`);
  });
});

describe("a backfill (jobs.md#trigger)", () => {
  const FROM = ["--since", "2026-11-22T00:00:00Z"];
  /** The clock of the control plane decides what is past. */
  beforeEach(() => {
    serve();
    bench.plane.on("GET", /^\/v1\/jobs\/nightly$/, (_seen, res) =>
      json(res, 200, job, { date: "Mon, 23 Nov 2026 08:00:00 GMT" }),
    );
  });

  test("says how many ticks there are, and triggers none unless somebody agrees", async () => {
    serveTrigger();
    const { code, stderr } = await said("trigger", "nightly", ...FROM, "--until", "2026-11-22T02:30:00Z");
    expect(code).toBe(125);
    expect(stderr).toMatch(/has 1 tick in that time, at 2026-11-22T01:30:00.000Z\.\n.*Nobody can be asked/);
    expect(triggers(bench.plane.seen)).toEqual([]);
  });

  test("triggers each tick by its instant, all with the same values", async () => {
    serveTrigger();
    const { code, stderr } = await said("trigger", "nightly", ...FROM, "--yes", "--param", "target=all");
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^drover: 2 runs made$/m)]);
    const sent = triggers(bench.plane.seen);
    expect(sent).toHaveLength(2);
    expect(sent).toEqual(
      expect.arrayContaining(
        [tick("01"), tick("02")].map(({ at }) => ({ tick: at, params: { target: "all" } })),
      ),
    );
  });

  test("that is repeated finds the runs that are there", async () => {
    serveTrigger(true);
    const { code, stderr } = await said("trigger", "nightly", ...FROM, "--yes");
    expect(code).toBe(0);
    expect(stderr).toMatch(/^drover: 0 runs made, 2 found that existed already$/m);
  });

  test("in which a tick fails goes on with the others, and says so", async () => {
    serveTrigger();
    bench.plane.on("POST", /trigger$/, (_seen, res) => problem(res, 409, "pool_draining"), 1);
    const { code, stdout, stderr } = await said("trigger", "nightly", ...FROM, "--yes");
    expect(code).toBe(125);
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toMatch(
      /^drover: 1 run made, 1 failed: the same command with the same instants tries these again$/m,
    );
  });

  test.each([
    [["--max-parallel", "1"], 3, "2 runs made, 2 runs did not end well"],
    [[], 0, "2 runs made"],
  ])(
    "%j: its exit code is that of runs that it waits for (cli.md#jobs-backfill)",
    async (flags, code, words) => {
      serveTrigger();
      const ended = await said("trigger", "nightly", ...FROM, "--yes", ...flags);
      expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(`drover: ${words}\n`)]);
    },
  );

  test("is of the past", async () => {
    const { stderr } = await said("trigger", "nightly", ...FROM, "--until", "2026-12-22T00:00:00Z");
    expect(stderr).toMatch(/^drover: --until is still to come\.\n/);
  });
});

test("history has runs and skipped ticks, newest first, with reasons (jobs.md#skips)", async () => {
  serve({ ...job, skips: [skip] });
  const labels = { "drover.job": "nightly", "drover.tick": tick("01").at };
  const made = { labels, submittedAt: tick("01").at, startedAt: null, state: "pending" } as const;
  const runs = [summaryOf("nightly-at-1", made), summaryOf("nightly-by-1", { submittedAt: AT })];
  bench.plane.on("GET", /^\/v1\/runs$/, (_seen, res) =>
    json(res, 200, { items: runs, next: null, service: [] }),
  );
  const lines = (await said("history", "nightly")).stdout.trimEnd().split("\n");
  expect(lines.slice(1).map((line) => line.split(/ {2,}/).slice(1, 3))).toEqual([
    [tick("01").at, "pending"],
    [tick("00").at, "skipped"],
    ["triggered", "running"],
  ]);
  expect(lines[2]).toContain("paused: the job was paused");
  const asked = bench.plane.seen.find(({ path }) => path === "/v1/runs");
  expect(asked?.query.get("label")).toBe("drover.job:nightly");
});

test("a paused job says so where its next ticks are shown (jobs.md#paused)", async () => {
  serve({ ...job, paused: { at: AT, by: "token:ops" }, next: [] });
  const next = await said("next", "nightly", "--count", "2");
  expect(next.stdout.split("\n")).toHaveLength(4);
  expect(next.stderr).toMatch(/^drover: it is paused: .* drover jobs resume nightly$/m);
  const { stdout } = await said("show", "nightly");
  expect(stdout).toMatch(/^paused +since 2026-11-21T08:30:00.000Z by token:ops$/m);
});

test("X21: what a job says does not act on the terminal", async () => {
  serve({ ...job, description: "a\u001b[2Jb" });
  expect((await said("show", "nightly")).stdout).toMatch(/^description +a\\x1b\[2Jb$/m);
});

test("names of jobs are completed (cli.md#completion)", async () => {
  const { name, project, pool, version, schedule, changedAt } = job;
  const listed = { name, project, pool, description: "builds", version, schedule, changedAt };
  bench.plane.on("GET", /^\/v1\/jobs$/, (_seen, res) =>
    json(res, 200, { items: [{ ...listed, paused: false, next: null }], next: null }),
  );
  const { stdout } = await bench.run(["complete", "zsh", "--", "jobs", "trigger", ""]);
  expect(stdout.toString()).toBe("words\nnightly\tbuilds\n");
});
