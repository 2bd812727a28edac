import { writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, statusOf } from "./support/control-plane.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const GROUP = {
  id: "g1",
  tasks: [
    { name: "prepare", argv: ["true"], lifecycle: { hook: "prestart" } },
    { name: "web", argv: ["true"] },
  ],
};

/** The events of a story: type, task, and the attempt that it is about. */
type Told = [type: string, task: string | null, message: string, attempt?: string];

const STORY: Told[] = [
  ["Received", null, "the run was submitted"],
  ["Placed", null, "placed on worker w-1"],
  ["Started", "prepare", "the command was started", "1.1"],
  ["Terminated", "prepare", "exit code 0", "1.1"],
  ["Started", "web", "the command was started", "1.1"],
  ["Terminated", "web", "exit code 1", "1.1"],
  ["Restarting", "web", "it starts again in 15s"],
  ["Started", "web", "the command was started", "1.2"],
  ["Terminated", "web", "exit code 0", "1.2"],
];

const OUTPUT: Record<string, string> = {
  "prepare/stdout/1.1": "one\r\ntwo\nno newline",
  "prepare/stderr/1.1": "",
  "web/stdout/1.1": "\u0000first",
  "web/stderr/1.1": "warning\n",
  "web/stdout/1.2": "second\n",
  "web/stderr/1.2": "",
};

/** Answers with the events behind `after`, two at a time. */
function answerEvents(res: ServerResponse, after: number, story = STORY, ended = true): void {
  const items = story.map(([type, task, message, attempt], i) => {
    const details = attempt === undefined ? {} : { attempt: `g1/${task}/${attempt}` };
    return { seq: i + 1, type, at: "2026-11-21T08:00:00.000Z", task, message, details };
  });
  const page = items.slice(after, after + 2);
  json(res, 200, { items: page, dropped: 0, ended: ended && after + 2 >= story.length });
}

function playGroup(story = STORY): void {
  const { plane } = bench;
  plane.on("GET", /\/events$/, ({ query }, res) => answerEvents(res, Number(query.get("after")), story));
  plane.on("GET", /\/logs\//, ({ path, query }, res) => {
    const [, , , , , task, stream] = path.split("/");
    const bytes = OUTPUT[`${task}/${stream}/${query.get("attempt")}`];
    if (bytes === undefined) return problem(res, 404, "unknown_task");
    res.writeHead(200, { "content-type": "application/octet-stream" }).end(bytes);
  });
}

function writeSpec(text: string | object): void {
  writeFileSync(join(bench.dir, "group.json"), typeof text === "string" ? text : JSON.stringify(text));
}

const linesOf = (text: string, mark: string) => text.split("\n").filter((line) => line.includes(` ${mark} `));

test("with --quiet a group has its output, and no events (cli.md#quiet)", async () => {
  playGroup();
  writeSpec(GROUP);
  const ended = await bench.run(["run", "--quiet", "-f", "group.json"]);
  expect(ended.code).toBe(0);
  expect(linesOf(ended.stderr, "|").length).toBeGreaterThan(0);
  expect(linesOf(ended.stderr, "*")).toEqual([]);
});

test("a group is told on stderr: events in order with their attempts, and output by task", async () => {
  playGroup();
  writeSpec(GROUP);
  const { code, stdout, stderr } = await bench.run(["run", "-f", "group.json"]);
  expect(code).toBe(0);
  expect(linesOf(stderr, "*")).toEqual([
    "(run)   * Received: the run was submitted",
    "(run)   * Placed: placed on worker w-1",
    "prepare * Started (attempt 1.1): the command was started",
    "prepare * Terminated (attempt 1.1): exit code 0",
    "web     * Started (attempt 1.1): the command was started",
    "web     * Terminated (attempt 1.1): exit code 1",
    "web     * Restarting: it starts again in 15s",
    "web     * Started (attempt 1.2): the command was started",
    "web     * Terminated (attempt 1.2): exit code 0",
  ]);
  expect(linesOf(stderr, "|").sort()).toEqual([
    "prepare | no newline",
    "prepare | one",
    "prepare | two",
    "web     | warning",
  ]);
  // Byte for byte what the one task has written that stands for the run, in all its attempts.
  expect(stdout.toString()).toBe("\u0000firstsecond\n");
});

test("with --json stdout has the status alone, and all output is told apart on stderr", async () => {
  playGroup();
  writeSpec(GROUP);
  const { stdout, stderr } = await bench.run(["run", "--json", "-f", "group.json"]);
  expect(JSON.parse(stdout.toString())).toMatchObject({ id: "g1", state: "complete" });
  expect(stderr).toContain("web     | second\n");
});

test("events go on after a broken connection: none is missing, none comes twice", async () => {
  playGroup();
  let broken = 0;
  bench.plane.on("GET", /\/events$/, ({ query }, res) => {
    if (query.get("after") === "4" && broken++ < 1) return res.destroy();
    answerEvents(res, Number(query.get("after")));
  });
  writeSpec(GROUP);
  const { stderr } = await bench.run(["run", "-f", "group.json"]);
  expect(broken).toBeGreaterThan(0);
  expect(linesOf(stderr, "*")).toHaveLength(STORY.length);
});

test("text in an event cannot move the cursor", async () => {
  playGroup([["Driver Failure", "web", "\u001b[2Jgone\nnext"]]);
  writeSpec(GROUP);
  const { stderr } = await bench.run(["run", "-f", "group.json"]);
  expect(stderr).toContain("web     * Driver Failure: \\x1b[2Jgone next\n");
});

test("output of an attempt that is no longer kept is mentioned, and is not a failure", async () => {
  playGroup([["Started", "web", "the command was started", "1.9"]]);
  writeSpec(GROUP);
  const { code, stderr } = await bench.run(["run", "-f", "group.json"]);
  expect(code).toBe(0);
  expect(stderr).toContain("The stdout of an earlier attempt of web (1.9) is no longer kept.");
});

test.each<[string, string | object, RegExp]>([
  ["that is no JSON", '{\n  "tasks": [,]\n}', /group\.json is not valid JSON: .*line 2, column 13/],
  ["that is cut off", '{"tasks": [', /group\.json is not valid JSON: .*line 1, column 12/],
  ["with a comma too many", '{"tasks": [],\n}', /is not valid JSON: Expected .* \(line 2, column 1\)\./],
  [
    "with a text that does not end",
    '{"id": "a\n',
    /is not valid JSON: Bad control character .*\(line 1, column 10\)/,
  ],
  ["with a wrong word far inside", `{"a": "${"x".repeat(200)}",\n "b": nope}`, /'o' \(line 2, column 8\)/],
  ["that is a list of no runs", '["a"]', /group\.json must hold one run as a JSON object, or a list/],
  ["that is empty", "", /group\.json is not valid JSON: .*line 1, column 1/],
])("a file %s is said with its place, and nothing is sent", async (_what, text, stderr) => {
  writeSpec(text);
  const ended = await bench.run(["run", "-f", "group.json"]);
  expect(ended).toMatchObject({ code: 125, stderr: expect.stringMatching(stderr) });
  expect(bench.plane.seen).toEqual([]);
});

test("a file that is not there is said", async () => {
  const ended = await bench.run(["run", "-f", "nothing.json"]);
  expect(ended).toMatchObject({
    code: 125,
    stderr: expect.stringMatching(/Cannot read nothing\.json: .*ENOENT/),
  });
});

test.each([
  ["/tasks/1/comand", "is not a known field; the fields are name, argv"],
  ["/tasks/0", "must be an object"],
])("a field that the server refuses is named by its pointer (%s)", async (pointer, detail) => {
  bench.plane.on("POST", /runs$/, (_seen, res) =>
    problem(res, 400, "invalid_request", { errors: [{ pointer, detail }] }),
  );
  writeSpec({ ...GROUP, tasks: [null, { name: "web", comand: [] }] });
  const ended = await bench.run(["run", "-f", "group.json"]);
  expect(ended).toMatchObject({ code: 125, stdout: Buffer.alloc(0) });
  expect(ended.stderr).toBe(`drover: This run is not accepted.\n  ${pointer}: ${detail}\n`);
});

const ASKS: [string, string[], string, object | undefined, string][] = [
  ["restart", ["restart", "r1"], "POST", {}, "r1 is being restarted\n"],
  [
    "restart of a task",
    ["restart", "--task", "web", "r1"],
    "POST",
    { task: "web" },
    "r1 is being restarted\n",
  ],
  ["restart of all", ["restart", "--all", "r1"], "POST", { all: true }, "r1 is being restarted\n"],
  ["signal", ["signal", "r1", "hup"], "POST", { signal: "SIGHUP" }, "r1 is being sent SIGHUP\n"],
  ["rm", ["rm", "r1"], "DELETE", undefined, "r1 is deleted\n"],
];

test.each(ASKS)(
  "drover %s asks once, and says what it has asked for",
  async (_what, args, method, body, said) => {
    bench.plane.on(method, /r1/, (_seen, res) => json(res, 200, statusOf("r1")));
    const ended = await bench.run(args);
    expect([ended.code, ended.stdout.toString(), ended.stderr]).toEqual([0, said, ""]);
    expect(bench.plane.seen.map((seen) => [seen.method, seen.body])).toEqual([[method, body]]);
  },
);

test.each([
  ["restart", ["restart", "r1"], 404, "unknown_run", 'there is no run "r1"'],
  ["restart", ["restart", "r1"], 409, "terminal", "the run has ended"],
  ["restart", ["restart", "--task", "x", "r1"], 404, "unknown_task", 'the run has no task called "x"'],
  ["restart", ["restart", "--task", "web", "r1"], 409, "not_running", "no such task runs"],
  ["signal", ["signal", "r1", "HUP"], 404, "unknown_run", 'there is no run "r1"'],
  ["signal", ["signal", "r1", "HUP"], 409, "terminal", "the run has ended"],
  ["signal", ["signal", "--task", "x", "r1", "HUP"], 404, "unknown_task", 'the run has no task called "x"'],
  ["rm", ["rm", "r1"], 404, "unknown_run", 'there is no run "r1"'],
  ["rm", ["rm", "r1"], 409, "not_terminal", "the run has not ended"],
  ["rm", ["rm", "r1"], 410, "expired_run", "the run has been deleted"],
])(
  "drover %s %j that is refused with %i %s says why, and fails",
  async (_verb, args, status, code, detail) => {
    bench.plane.on("POST", /r1/, (_seen, res) => problem(res, status, code, { detail }));
    bench.plane.on("DELETE", /r1/, (_seen, res) => problem(res, status, code, { detail }));
    const ended = await bench.run(args);
    expect([ended.code, ended.stdout.toString()]).toEqual([125, ""]);
    expect(ended.stderr).toContain(detail);
  },
);

test("one run that cannot be deleted stops none of the others", async () => {
  bench.plane.on("DELETE", /./, (_seen, res) => res.writeHead(204).end());
  bench.plane.on("DELETE", /r2$/, (_seen, res) => problem(res, 409, "not_terminal", { detail: "it runs" }));
  const ended = await bench.run(["rm", "r1", "r2", "r3"]);
  expect(ended.code).toBe(125);
  expect(ended.stdout.toString().split("\n").sort()).toEqual(["", "r1 is deleted", "r3 is deleted"]);
  expect(ended.stderr).toMatch(/^drover: r2: it runs/i);
});
