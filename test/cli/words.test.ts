import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, statusOf } from "./support/control-plane.ts";

// What the command says, in the words of those who type it: none of the API's, none of a parser's.

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const RUNS = /^\/v1\/runs$/;
const VERBS = (
  "up run ps stats status logs pull abort restart signal rm why workers hold drain resume kill enroll " +
  "pools events apply jobs snapshots tokens trust sessions secrets webhooks audit provider version help"
).split(" ");
const BELOW = [
  "pools create",
  "pools edit",
  "pools check",
  "pools delete",
  "snapshots upload",
  "snapshots get",
  "tokens create",
  "tokens list",
  "tokens rotate",
  "tokens revoke",
  "issuer replace-keys",
  "sessions list",
  "sessions end",
  "webhooks create",
  "webhooks list",
  "webhooks show",
  "webhooks rm",
  "webhooks test",
  "webhooks deliveries",
  "webhooks replay",
  "webhooks enable",
  "webhooks disable",
  "webhooks rotate",
  "jobs apply",
  "jobs list",
  "jobs show",
  "jobs next",
  "jobs trigger",
  "jobs pause",
  "jobs resume",
  "jobs history",
  "jobs rm",
  "trust set",
  "trust list",
  "trust rm",
  "secrets set",
  "secrets list",
  "secrets rm",
  "audit verify",
  "provider test",
];

const said = async (...args: string[]) => {
  const { code, stdout, stderr } = await bench.run(args);
  return { code, stdout: stdout.toString(), stderr };
};

test("P23: a wrong field is named by its flag and value, and a wrong argument by its place", async () => {
  const errors = [
    { pointer: "/outputs/1", detail: "leads out of the directory" },
    { pointer: "/env/A B", detail: "must be letters" },
  ];
  bench.plane.on("POST", RUNS, (_seen, res) => problem(res, 400, "invalid_request", { errors }), 1);
  const ended = await said("run", "--out", "dist", "--out", "../x", "--", "true");
  expect(ended.stderr).toBe(
    "drover: This run is not accepted.\n" +
      "  --out ../x: leads out of the directory\n  --env A B: must be letters\n",
  );
  const argument = await said("snapshots", "get", "sha");
  expect(argument.stderr).toMatch(/^drover: <id> cannot be `sha`\. It must be sha256: /);
});

test("P23: an empty value is shown as it is typed", async () => {
  const errors = [{ pointer: "/outputs/0", detail: "must have at least 1 character" }];
  bench.plane.on("POST", RUNS, (_seen, res) => problem(res, 400, "invalid_request", { errors }), 1);
  expect((await said("run", "--out", "", "--", "true")).stderr).toContain(
    "\n  --out '': must have at least 1 character\n",
  );
});

test("P23: a field of a file is named as the file has it, and one of a flag by its flag", async () => {
  const errors = [
    { pointer: "/argv/0", detail: "must be a string" },
    { pointer: "/env", detail: "must be an object" },
    { pointer: "/outputs/0", detail: "must be a string" },
    { pointer: "/x", detail: "is not known" },
    { pointer: "/resources/vcpus", detail: "is too much" },
  ];
  bench.plane.on("POST", RUNS, (_seen, res) => problem(res, 400, "invalid_request", { errors }), 1);
  writeFileSync(join(bench.dir, "run.json"), '{"argv": [1], "env": 5, "outputs": [2], "x": 3}');
  expect((await said("run", "--cpus", "9", "-f", "run.json")).stderr).toBe(
    "drover: This run is not accepted.\n  /argv/0: must be a string\n  /env: must be an object\n" +
      "  /outputs/0: must be a string\n  /x: is not known\n  --cpus: is too much\n",
  );
});

test("P23: several errors of a file are listed, without the words that an API has for that", async () => {
  const errors = [{ pointer: "/provider/url", detail: "is required" }];
  const detail = "/provider/url is required; `errors` lists all 6 errors";
  bench.plane.on("PUT", /pools/, (_seen, res) => problem(res, 400, "invalid_request", { detail, errors }), 1);
  writeFileSync(join(bench.dir, "pool.json"), '{"name": "x"}');
  expect((await said("apply", "-f", "pool.json")).stderr).toBe(
    "drover: Drover does not accept this:\n  /provider/url: is required\n",
  );
});

test("P23: a pool that is in use, and one that is not there, lead to the verb that helps", async () => {
  bench.plane.on("DELETE", /pools/, (_seen, res) => problem(res, 409, "pool_in_use"), 1);
  expect((await said("pools", "delete", "build")).stderr).toBe(
    "drover: Pool build has machines, or runs that have not ended.\n" +
      "  Delete it once they have ended: drover pools delete --drain build\n" +
      "  Or kill them now: drover pools delete --force build\n",
  );
  const detail = 'there is no pool "gpu"';
  bench.plane.on("POST", RUNS, (_seen, res) => problem(res, 404, "unknown_pool", { detail }), 1);
  expect((await said("run", "--pool", "gpu", "--", "x")).stderr).toBe(
    `drover: ${detail}\n  Choose one of: drover pools\n`,
  );
});

test.each([["nope"], ["pools", "nope"], ["run", "nope"]])(
  "P24: help for %j %j says that there is no such command",
  async (...words) => {
    const { code, stdout, stderr } = await said("help", ...words);
    expect([code, stdout]).toEqual([125, ""]);
    expect(stderr).toMatch(new RegExp(`^drover: There is no command \`${words.join(" ")}\``));
    expect(stderr.split("\n").length).toBeLessThan(5);
  },
);

test.each([["version"], ["-V"], ["--version"]])("P24: %s prints the version", async (word) => {
  expect(await said(word)).toEqual({ code: 0, stdout: "drover 0.0.0-test\n", stderr: "" });
});

test("P25: no help says a default twice, as JSON, or has a word of the API for what is typed", async () => {
  for (const verb of [...VERBS, ...BELOW]) {
    const { code, stdout } = await said("help", ...verb.split(" "));
    expect(code).toBe(0);
    expect(stdout).not.toMatch(/default\) \(default|default: "|default: (true|false|default)\b|argv/);
  }
});

test.each<[args: string[], said: string]>([
  [["--memory", "512"], "--memory cannot be `512`. It needs a unit: 512MiB or 512GiB, or 512B for bytes."],
  [
    ["--memory", "512m"],
    "--memory cannot be `512m`. It must be a size with its unit, such as 64KiB, 512MiB or 2GB.",
  ],
  [
    ["--timeout", "10"],
    "--timeout cannot be `10`. It needs a unit: 10s are seconds, 10m minutes, 10h hours.",
  ],
  [
    ["--cpus", "0.0005"],
    "--cpus cannot be `0.0005`. It must be a number from 0 to 1024, with at most three digits after the " +
      "point, such as 2 or 0.5.",
  ],
])("P26: run %j is refused with what to write", async (flags, words) => {
  const { code, stderr } = await said("run", ...flags, "--", "x");
  expect([code, stderr]).toEqual([125, `drover: ${words}\nTry: drover run --help\n`]);
});

test("P28: a run that went well is not dead, and what is listed has words that people use", async () => {
  const times = { lastRestart: null, nextStart: null, startedAt: null, finishedAt: null };
  const task = { state: "dead", phase: "dead", restarts: 0, ...times } as const;
  const tasks = [
    { ...task, name: "main", failed: false, attempts: [], events: [] },
    { ...task, name: "other", failed: true, attempts: [], events: [] },
  ];
  bench.plane.runs.set("r1", statusOf("r1", { state: "complete", exitCode: 0, tasks }));
  const { stdout } = await said("status", "r1");
  expect(stdout).toMatch(/^Task main: ended$/m);
  expect(stdout).toMatch(/^Task other: failed$/m);
});

test.each<[args: string[], shown: string]>([
  [["ps"], "No runs.\n"],
  [["ps", "--label", "a=b"], "No runs match.\n"],
  [["ps", "--json"], "[]\n"],
  [["workers"], "No machines.\n"],
  [["workers", "--pool", "x"], "No machines match.\n"],
  [["workers", "--state", "idle"], "No machines match.\n"],
  [["pools"], "No pools. Create one: drover pools create <name>\n"],
  [["pools", "--json"], "[]\n"],
  [["events", "--pool", "x"], "Nothing is going on in pool x.\n"],
  [["events", "--pool", "x", "--json"], ""],
])("P30: where nothing is, %j says so", async (args, shown) => {
  const isOfEvents = args[0] === "events";
  const requests = args[0] === "ps" ? 2 : 1;
  const none = { items: [], next: isOfEvents ? "0" : null, service: [] };
  bench.plane.on("GET", /^\/v1\//, (_seen, res) => json(res, 200, none), requests);
  expect(await said(...args)).toEqual({ code: 0, stdout: shown, stderr: "" });
});

test("P33: an id that is taken says by which flags the two runs differ", async () => {
  const errors = ["/dir", "/env"].map((pointer) => ({ pointer, detail: "differs from that of the run" }));
  bench.plane.on("POST", RUNS, (_seen, res) => problem(res, 409, "run_exists", { errors }), 1);
  const { code, stderr } = await said("run", "--id", "r7", "--env", "A=1", "--", "x");
  expect(code).toBe(125);
  expect(stderr).toBe(
    "drover: Run r7 exists already, and differs in: --dir, --env.\n" +
      "  Choose another --id, or look at that run: drover status r7\n",
  );
});

test.each<[title: string, files: string | undefined, said: RegExp]>([
  ["of no files", "0", /^drover: The result of run r1 is empty: no file matches --out\.\n$/],
  ["of one file", "1", /^drover: Run r1 has a result of 1 file\. Fetch it: drover pull r1\n$/],
  ["of many files", "12", /^drover: Run r1 has a result of 12 files\. Fetch/],
  ["whose files were not counted", undefined, /^drover: Run r1 has a result\. Fetch/],
])("P34: a result %s is announced after the run", async (_title, files, words) => {
  const times = { lastRestart: null, nextStart: null, startedAt: null, finishedAt: null };
  const at = "2026-11-21T08:00:00.000Z";
  const event = {
    seq: 1,
    at,
    task: "main",
    type: "Outputs Stored",
    message: "",
    details: { files: files ?? "" },
  };
  const events = files === undefined ? [] : [event];
  const task = { name: "main", state: "dead", phase: "dead", failed: false, restarts: 0, ...times } as const;
  bench.plane.ends = {
    state: "complete",
    exitCode: 0,
    snapshot: `sha256:${"0".repeat(64)}`,
    tasks: [{ ...task, attempts: [], events }],
  };
  bench.plane.runs.delete("r1");
  expect((await said("run", "--id", "r1", "--out", "x", "--", "true")).stderr).toMatch(words);
  bench.plane.runs.delete("r1");
  expect((await said("run", "--quiet", "--id", "r1", "--out", "x", "--", "true")).stderr).toBe("");
});

test("P35: what an ended run has used is not shown as dashes", async () => {
  const tasks = [{ name: "main", state: "dead", attempt: null, usage: null }];
  const stats = { run: "r1", at: "2026-11-21T08:30:00.000Z", tasks, total: null };
  bench.plane.on("GET", /stats$/, (_seen, res) => json(res, 200, stats), 1);
  expect(await said("stats", "r1")).toEqual({
    code: 0,
    stdout: "",
    stderr: "drover: Run r1 has ended, and nothing was measured while it ran.\n",
  });
});

test("P42: the help of --env says that it is no place for secrets", async () => {
  expect((await said("help", "run")).stdout).toMatch(/Values of --env are stored with the run in clear text/);
});
