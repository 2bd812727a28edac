import { MAX_SPEC_BYTES } from "../../../src/shared/limits.ts";
import { POOL_CONFIG } from "./samples.ts";

/** A request that must be refused, whatever is stored, and how. */
export interface BadRequest {
  name: string;
  method: string;
  path: string;
  headers?: Record<string, string>;
  /** Text and bytes are sent as they are, anything else as JSON. */
  body?: unknown;
  /** The request carries no token. */
  anonymous?: boolean;
  status: number;
  code: string;
  /** Where the first error must point, and a part of its text. */
  pointer?: string;
  detail?: string;
}

const invalid = { status: 400, code: "invalid_request" };

/** A submission that is answered with 400, with the field that the answer names. */
export function post(name: string, body: unknown, pointer: string, detail: string): BadRequest {
  return { name, method: "POST", path: "/v1/runs", body, ...invalid, pointer, detail };
}

function get(name: string, path: string, pointer: string, detail: string): BadRequest {
  return { name, method: "GET", path, ...invalid, pointer, detail };
}

function put(name: string, over: object, pointer: string, detail: string): BadRequest {
  const body = { ...POOL_CONFIG, ...over };
  return { name, method: "PUT", path: "/v1/pools/other", body, ...invalid, pointer, detail };
}

const argv = ["true"];

function signal(name: string, body: unknown, pointer: string, detail: string): BadRequest {
  return { name, method: "POST", path: "/v1/runs/a/signal", body, ...invalid, pointer, detail };
}

const SIGNALED: BadRequest[] = [
  signal("no signal", {}, "/signal", "must be one of SIGHUP, SIGINT"),
  signal("an unknown signal", { signal: "SIGNOPE" }, "/signal", "must be one of SIGHUP, SIGINT"),
  signal("a signal by number", { signal: 9 }, "/signal", "must be one of SIGHUP, SIGINT"),
  signal(
    "an unknown field beside a signal",
    { signal: "SIGHUP", tsk: "m" },
    "/tsk",
    "the fields are task, signal",
  ),
];

const SPECS: BadRequest[] = [
  post("no command", {}, "/argv", "must be a list of strings"),
  post("an empty command", { argv: [] }, "/argv", "must name a command"),
  post("a command without a name", { argv: [""] }, "/argv", "must begin with the name of a command"),
  post("a command as text", { argv: "make test" }, "/argv", "must be a list of strings"),
  post("an argument that is a number", { argv: ["sleep", 5] }, "/argv/1", "must be a string, not a number"),
  post("an argument with a NUL", { argv: ["a\0b"] }, "/argv/0", "NUL"),
  post("a number as duration", { argv, timeout: 30 }, "/timeout", "duration in quotes"),
  post("a negative duration", { argv, timeout: "-5s" }, "/timeout", "not negative"),
  post("an overflowing duration", { argv, timeout: "99999999999d" }, "/timeout", "at most 100 years"),
  post("a time-out of nothing", { argv, timeout: "0s" }, "/timeout", "longer than"),
  post(
    "an unknown field",
    { argv, comand: 1 },
    "/comand",
    "is not a known field; the fields are id, argv, container",
  ),
  post(
    "an unknown field inside",
    { argv, resources: { cpus: 1 } },
    "/resources/cpus",
    "the fields are vcpus, memory",
  ),
  post("a sticky run by word", { argv, sticky: "yes" }, "/sticky", "true or false"),
  post("a compatibility that is not there", { argv, compat: "arvados" }, "/compat", "must be nomad"),
  post("an id with odd characters", { argv, id: "Üx/.." }, "/id", "lower-case letters"),
  post("an id of 64 characters", { argv, id: "a".repeat(64) }, "/id", "1 to 63"),
  post("a pool with odd characters", { argv, pool: "a b" }, "/pool", "lower-case letters"),
  post(
    "an array without a size",
    { argv, array: { id: "a", index: 0 } },
    "/array/size",
    "is required: a number",
  ),
  post("an array of 0", { argv, array: { id: "a", index: 0, size: 0 } }, "/array/size", "at least 1"),
  post(
    "an array of 10,001",
    { argv, array: { id: "a", index: 0, size: 10_001 } },
    "/array/size",
    "at most 10000",
  ),
  post(
    "an index behind the last",
    { argv, array: { id: "a", index: 2, size: 2 } },
    "/array/index",
    "less than `size`",
  ),
  post(
    "an axis that no variable can have as its name",
    { argv, array: { id: "a", index: 0, size: 1, matrix: { "a-b": "x" } } },
    "/array/matrix",
    "letters, digits and underscores",
  ),
  post(
    "an array of which none may run",
    { argv, array: { id: "a", index: 0, size: 1, maxParallel: 0 } },
    "/array/maxParallel",
    "at least 1",
  ),
  ...(
    [
      ["no key", {}, "/key", "1 to 200 characters"],
      ["an empty key of concurrency", { key: "" }, "/key", "1 to 200 characters"],
      ["a key of 201 characters", { key: "k".repeat(201) }, "/key", "1 to 200 characters"],
      ["a key of which none may run", { key: "k", limit: 0 }, "/limit", "at least 1"],
      ["a limit of 10,001", { key: "k", limit: 10_001 }, "/limit", "at most 10000"],
      ["a negative number that may wait", { key: "k", queueMax: -1 }, "/queueMax", "at least 0"],
      ["an unknown strategy", { key: "k", strategy: "any" }, "/strategy", "queue"],
      [
        "how many may wait where none may",
        { key: "k", strategy: "cancel-new", queueMax: 1 },
        "/queueMax",
        "only for the strategies",
      ],
      [
        "how many may wait where one may",
        { key: "k", strategy: "queue-one", queueMax: 1 },
        "/queueMax",
        "only for the strategies",
      ],
      ["an unknown field of the key", { key: "k", max: 1 }, "/max", "not a known field"],
    ] as const
  ).map(([what, concurrency, field, text]) =>
    post(what, { argv, concurrency }, `/concurrency${field}`, text),
  ),
  post("nobody to follow", { argv, after: [] }, "/after", "at least 1"),
  post(
    "too many to follow",
    { argv, after: Array.from({ length: 101 }, () => "a") },
    "/after",
    "at most 100",
  ),
  post("one to follow with odd characters", { argv, after: ["A b"] }, "/after/0", "lower-case letters"),
  post("neither a run nor an array to follow", { argv, after: [{}] }, "/after/0", "must be the id of a run"),
  post("a number to follow", { argv, after: [7] }, "/after/0", "must be the id of a run, or an object"),
  post("an end of no kind", { argv, after: [{ run: "a", on: "success!" }] }, "/after/0/on", "success"),
  post(
    "no failure that ends an array",
    { argv, array: { id: "a", index: 0, size: 1, failAt: 0 } },
    "/array/failAt",
    "at least 1",
  ),
  post(
    "a share that ends an array and is none",
    { argv, array: { id: "a", index: 0, size: 1, failAt: "0%" } },
    "/array/failAt",
    'must be a number of runs from 1 to 10000, or a share from "1%" to "100%"',
  ),
  post("an empty key", { argv, replace: "" }, "/replace", "at least 1"),
  post("a key of 129 characters", { argv, replace: "k".repeat(129) }, "/replace", "at most 128"),
  post(
    "two axes with one variable",
    { argv, array: { id: "a", index: 0, size: 1, matrix: { os: "x", OS: "y" } } },
    "/array/matrix",
    "one name",
  ),
  post("a priority of 0", { argv, priority: 0 }, "/priority", "at least 1"),
  post("a priority of 101", { argv, priority: 101 }, "/priority", "at most 100"),
  post("a fraction as priority", { argv, priority: 1.5 }, "/priority", "whole number"),
  post("a label that is a number", { argv, labels: { a: 1 } }, "/labels/a", "must be a string"),
  post("a variable with an odd name", { argv, env: { "A=B": "1" } }, "/env/A=B", "letters, digits"),
  post(
    "a pointer that needs escapes",
    { argv, labels: { "a/b~c": 1 } },
    "/labels/a~1b~0c",
    "must be a string",
  ),
  post("a directory that climbs out", { argv, dir: "a/../../b" }, "/dir", "must not lead outside"),
  post("a size that is none", { argv, resources: { memory: "much" } }, "/resources/memory", "512MiB"),
  post("a negative size", { argv, resources: { disk: -1 } }, "/resources/disk", "at least 0"),
  post("an unknown signal", { argv, killSignal: "SIGFOO" }, "/killSignal", "must be one of SIGHUP"),
  post("half of a surrogate pair", { argv: ["\ud800"] }, "", "not valid Unicode"),
  post("100,000 arguments", { argv: Array(100_000).fill("xxx") }, "", "as JSON; the limit is 256KiB"),
  post("100,000 wrong arguments", { argv: Array(100_000).fill(1) }, "/argv/0", "must be a string"),
  post("a spec one byte too large", { argv: ["x".repeat(MAX_SPEC_BYTES - 12)] }, "", "the limit is 256KiB"),
  post("null", null, "", "must be an object"),
  post("a list", [{ argv }], "", "must be an object"),
];

const main = { name: "main", argv };
const group = (...tasks: object[]) => ({ tasks });

/** api.md#refused-specs; restart.md#restart-policy and restart.md#reschedule. */
const GROUPS: BadRequest[] = [
  post("no tasks", { tasks: [] }, "/tasks", "at least 1 entry"),
  post(
    "65 tasks",
    group(...Array.from({ length: 65 }, (_, i) => ({ ...main, name: `t${i}` }))),
    "/tasks",
    "64",
  ),
  post("tasks that are no list", { tasks: {} }, "/tasks", "must be a list of tasks"),
  post("a command beside tasks", { argv, ...group(main) }, "/argv", "cannot be combined with `tasks`"),
  post(
    "no main task (tasks.md#group-rules)",
    group({ ...main, lifecycle: { hook: "prestart" } }),
    "/tasks",
    "must have a main task",
  ),
  post(
    "two leaders (tasks.md#group-rules)",
    group({ ...main, leader: true }, { ...main, name: "b", leader: true }),
    "/tasks/1/leader",
    '"main" is already the leader',
  ),
  post(
    "outputs of nobody in particular",
    { ...group(main, { ...main, name: "b" }), outputs: ["out/*"] },
    "/outputs",
    "make one of main, b the leader",
  ),
  post("no outputs", { argv, outputs: [] }, "/outputs", "at least 1 glob"),
  post("outputs anywhere", { argv, outputs: ["/etc/*"] }, "/outputs/0", "relative to the task's directory"),
  post("a snapshot by another name", { argv, snapshot: "latest" }, "/snapshot", 'must be "sha256:"'),
  post(
    "a snapshot of a task by another name",
    group({ ...main, snapshot: "sha256:1" }),
    "/tasks/0/snapshot",
    'must be "sha256:"',
  ),
  post(
    "a name twice (tasks.md#group-rules)",
    group(main, main),
    "/tasks/1/name",
    'is used twice in this group: "main"',
  ),
  post("a name with odd characters", group({ ...main, name: "A/b" }), "/tasks/0/name", "lower-case letters"),
  post(
    "the reserved name (tasks.md#group-rules)",
    group({ ...main, name: "alloc" }),
    "/tasks/0/name",
    "reserved",
  ),
  post("a task without a command", group({ name: "main" }), "/tasks/0/argv", "must be a list of strings"),
  post("a task without a name", group({ argv }), "/tasks/0/name", "is required"),
  post(
    "an unknown field of a task",
    group({ ...main, image: "x" }),
    "/tasks/0/image",
    "is not a known field",
  ),
  post(
    "a sidecar among main tasks",
    group({ ...main, lifecycle: { sidecar: true } }),
    "/tasks/0/lifecycle/sidecar",
    "must not be true for a main task",
  ),
  post(
    "a sidecar after the end",
    group(main, { ...main, name: "b", lifecycle: { hook: "poststop", sidecar: true } }),
    "/tasks/1/lifecycle/sidecar",
    "must not be true for a poststop task",
  ),
  post(
    "an unknown hook",
    group({ ...main, lifecycle: { hook: "midway" } }),
    "/tasks/0/lifecycle/hook",
    "must be one of prestart, poststart, poststop",
  ),
  post(
    "an unknown driver",
    group({ ...main, driver: "docker" }),
    "/tasks/0/driver",
    "must be one of exec, container, fake",
  ),
  post(
    "a script for a real process",
    group({ ...main, fake: { runFor: "1s" } }),
    "/tasks/0/fake",
    'only allowed with `driver: "fake"`',
  ),
  post(
    "a script with an odd exit code",
    group({ ...main, driver: "fake", fake: { exitCode: 256 } }),
    "/tasks/0/fake/exitCode",
    "at most 255",
  ),
  post(
    "a delay mode without attempts",
    { argv, restart: { attempts: 0, mode: "delay" } },
    "/restart/attempts",
    "ambiguous",
  ),
  post(
    "an unknown mode (restart.md#valid-3)",
    { argv, restart: { mode: "nope" } },
    "/restart/mode",
    "must be one of fail, delay",
  ),
  post(
    "restarts that do not fit",
    group({ ...main, restart: { attempts: 3, delay: "5s", interval: "5s" } }),
    "/tasks/0/restart/attempts",
    "3 delays take 15s",
  ),
  post(
    "a restart interval that is too short",
    { ...group(main), restart: { interval: "2s" } },
    "/restart/interval",
    "at least 5s",
  ),
  post("an unknown type", { argv, type: "system" }, "/type", "must be one of batch, service"),
  post(
    "reschedules that do not fit",
    { argv, reschedule: { attempts: 10, delay: "20m", interval: "1h", function: "constant" } },
    "/reschedule/attempts",
    "only 3 do; 10 need 3h20m",
  ),
  post(
    "endless reschedules, so many",
    { argv, reschedule: { attempts: 1, unlimited: true } },
    "/reschedule/attempts",
    "send one of them",
  ),
  post(
    "a reschedule policy beside a retry policy",
    { argv, retry: { on: ["exit"] }, reschedule: { attempts: 1 } },
    "/reschedule",
    "cannot be combined with `retry`",
  ),
  post(
    "a retry after a timeout that there is none of",
    { argv, retry: { on: ["timeout"] } },
    "/retry/on",
    "needs a `timeout`",
  ),
  post(
    "a retry with more memory than nothing",
    { argv, retry: { on: ["oom"], escalate: { oom: {} } } },
    "/retry/escalate/oom",
    "needs `resources.memory`",
  ),
  post("a cause that there is none of", { argv, retry: { on: ["luck"] } }, "/retry/on/0", "exit"),
  post(
    "a reschedule too soon",
    { argv, reschedule: { attempts: 1, delay: "1s" } },
    "/reschedule/delay",
    "5s",
  ),
];

const port = { port: 80 };
const check = (more: object) => ({ argv, checks: [{ name: "c", tcp: port, ...more }] });

/** health.md#spec, health.md#refused. */
const CHECKS: BadRequest[] = [
  post("no checks", { argv, checks: [] }, "/checks", "at least 1 entry"),
  post("17 checks", { argv, checks: Array(17).fill({ name: "c", tcp: port }) }, "/checks", "at most 16"),
  post(
    "a check of nothing",
    check({ tcp: undefined }),
    "/checks/0",
    "exactly one of `http`, `tcp` and `command`",
  ),
  post("a check of two things", check({ http: port }), "/checks/0", "exactly one of"),
  post(
    "a name twice",
    {
      argv,
      checks: [
        { name: "c", tcp: port },
        { name: "c", tcp: port },
      ],
    },
    "/checks/1/name",
    "twice",
  ),
  post("a name with odd characters", check({ name: "A b" }), "/checks/0/name", "lower-case letters"),
  post("a port that is none", check({ tcp: { port: 65_536 } }), "/checks/0/tcp/port", "1 to 65535"),
  post(
    "a path without a slash",
    check({ tcp: undefined, http: { ...port, path: "x" } }),
    "/checks/0/http/path",
    "begin with /",
  ),
  post(
    "a header with a line end",
    check({ tcp: undefined, http: { ...port, headers: { a: "b\r\nc: d" } } }),
    "/checks/0/http/headers/a",
    "visible ASCII",
  ),
  post(
    "a command without words",
    check({ tcp: undefined, command: { argv: [] } }),
    "/checks/0/command/argv",
    "must name",
  ),
  post("an interval that is too short", check({ interval: "999ms" }), "/checks/0/interval", "at least 1s"),
  post("a time-out that is too short", check({ timeout: "99ms" }), "/checks/0/timeout", "100ms to 5m"),
  post("a time-out that is too long", check({ timeout: "301s" }), "/checks/0/timeout", "100ms to 5m"),
  post("a threshold of 0", check({ failAfter: 0 }), "/checks/0/failAfter", "at least 1"),
  post("a restart for no check", { argv, checkRestart: { limit: 3 } }, "/checkRestart", "needs `checks`"),
  post("a restart without a limit", { ...check({}), checkRestart: {} }, "/checkRestart/limit", "is required"),
  post(
    "checks of a group",
    { ...group(main), checks: check({}).checks },
    "/checks",
    "move it into the entry",
  ),
  post(
    "checks of a task that is to end",
    group(main, { ...main, name: "b", lifecycle: { hook: "poststop" }, checks: check({}).checks }),
    "/tasks/1/checks",
    "cannot be of a poststop task that is to end",
  ),
];

const RESTARTS: BadRequest[] = [
  post("a restart of one and all", { task: "a", all: true }, "/all", "send one of them"),
  post("a restart with more", { tasks: ["a"] }, "/tasks", "is not a known field; the fields are task, all"),
].map((bad) => ({ ...bad, path: "/v1/runs/a/restart" }));

const UPDATES: BadRequest[] = [
  post("an update without an index", { spec: { argv } }, "/specIndex", "is required"),
  post("an update without a spec", { specIndex: 1 }, "/spec", "is required"),
  post("an update to a bad spec", { specIndex: 1, spec: { argv: [] } }, "/spec/argv", "must name a command"),
  post(
    "an update to a policy that breaks its rules",
    { specIndex: 1, spec: { argv, restart: { attempts: 3, delay: "2h", interval: "5h" } } },
    "/spec/restart/attempts",
    "3 delays take 6h",
  ),
  post(
    "an update to a group without a main task",
    { specIndex: 1, spec: group({ ...main, lifecycle: { hook: "poststop" } }) },
    "/spec/tasks",
    "must have a main task",
  ),
  post(
    "an update to a spec that is too large",
    { specIndex: 1, spec: { argv: ["x".repeat(MAX_SPEC_BYTES - 12)] } },
    "/spec",
    "as JSON; the limit is 256KiB",
  ),
  post(
    "an update with half of a surrogate pair",
    { specIndex: 1, spec: { argv: ["\ud800"] } },
    "/spec",
    "not valid Unicode",
  ),
].map((bad) => ({ ...bad, method: "PATCH", path: "/v1/runs/a" }));

const BATCHES: BadRequest[] = [
  post("an empty batch", { runs: [] }, "/runs", "at least 1 entry"),
  post("a batch of 1,001", { runs: Array(1_001).fill({ argv }) }, "/runs", "at most 1000 entries"),
  post("a batch that is no list", { runs: {} }, "/runs", "must be a list"),
  post(
    "both forms at once",
    { runs: [{ argv }], argv },
    "/runs",
    "is not a known field; the fields are id, argv",
  ),
  post("one bad run among good ones", { runs: [{ argv }, { argv: [] }] }, "/runs/1/argv", "must name"),
  post("a wrong word in a batch", { runs: [{ argv, compat: "x" }] }, "/runs/0/compat", "must be nomad"),
  post(
    "one id twice",
    {
      runs: [
        { argv, id: "a" },
        { argv, id: "a" },
      ],
    },
    "/runs/1/id",
    "used twice",
  ),
  {
    ...post("a key beside an id", { argv, id: "mine" }, "/id", "cannot be chosen together"),
    headers: { "idempotency-key": "k1" },
  },
  {
    ...post("a key that is too long", { argv }, "idempotency-key:", "1 to 255"),
    headers: { "idempotency-key": "k".repeat(256) },
  },
];

const QUERIES: BadRequest[] = [
  get(
    "an unknown parameter",
    "/v1/runs?stat=done",
    "?stat",
    "is not a known field; the fields are id, state",
  ),
  get("a parameter where there are none", "/v1/pools?x=1", "?x", "none are allowed"),
  get("an unknown state", "/v1/runs?state=finished", "?state", "must be one of unknown, pending"),
  get("one unknown state of two", "/v1/runs?state=done&state=x", "?state", "must be one of"),
  get("a bit set above 127", "/v1/runs?state=128", "?state", "bit set from 0 to 127"),
  get("a negative bit set", "/v1/runs?state=-1", "?state", "bit set from 0 to 127"),
  get("a wait without a unit", "/v1/runs?wait=30", "?wait", "must be a duration"),
  get("a negative wait", "/v1/runs?wait=-1s", "?wait", "not negative"),
  get("a limit of 0", "/v1/runs?limit=0", "?limit", "from 1 to 1000"),
  get("a limit of 1001", "/v1/runs?limit=1001", "?limit", "from 1 to 1000"),
  get("a cursor that is none", "/v1/runs?cursor=abc", "?cursor", "`next` of an earlier answer"),
  get("a cursor beside ids", "/v1/runs?id=a&cursor=eyJhdCI6IiIsImlkIjoiIn0", "?cursor", "together with ids"),
  get("an id with odd characters", "/v1/runs?id=A", "?id", "lower-case letters"),
  get("a label without a value", "/v1/runs?label=team", "?label", "team:x"),
  get("a label twice", "/v1/runs?label=a:1&label=a:2", "?label", "only once"),
  get("a path with odd characters", "/v1/runs/..%2Fx", "{id}", "lower-case letters"),
  get("an unknown worker state", "/v1/workers?state=busy", "?state", "must be one of unknown, booting"),
  get("an event number that is none", "/v1/runs/a/events?after=x", "?after", "number of an event"),
  get("a stream that is none", "/v1/runs/a/logs/main/stdin", "{stream}", "must be one of stdout, stderr"),
  get("a task with odd characters", "/v1/runs/a/logs/M/stdout", "{task}", "name of a task"),
  get("a tail of nothing", "/v1/runs/a/logs/main/stdout?tail=0", "?tail", "one byte or more"),
  get("a follow that is no flag", "/v1/runs/a/logs/main/stdout?follow=x", "?follow", "must be one of 0, 1"),
  get("a moment that is none", "/v1/runs/a/logs/main?since=yesterday", "?since", "must be an instant in UTC"),
  get("both streams", "/v1/runs/a/logs/main?stream=both", "?stream", "must be one of stdout, stderr"),
  get("an offset below 0", "/v1/runs/a/logs/main?stdout=-1", "?stdout", "must be a number of bytes"),
  get("an offset beyond the cap", "/v1/runs/a/logs/main?stderr=1073741825", "?stderr", "a number of bytes"),
  get("an attempt of both that is none", "/v1/runs/a/logs/main?attempt=x", "?attempt", "end of an attempt"),
  get("an attempt that is none", "/v1/runs/a/logs/main/stdout?attempt=0", "?attempt", "end of an attempt"),
  {
    ...get("a range backwards", "/v1/runs/a/logs/main/stdout", "Range:", "one range of bytes"),
    headers: { range: "bytes=5-2" },
  },
  {
    ...get("two ranges", "/v1/runs/a/logs/main/stdout", "Range:", "one range of bytes"),
    headers: { range: "bytes=0-1,4-5" },
  },
  {
    ...get("a range beside a tail", "/v1/runs/a/logs/main/stdout?tail=5", "?tail", "together with a Range"),
    headers: { range: "bytes=0-1" },
  },
  {
    ...get("an event id that is none", "/v1/runs/a/events", "last-event-id:", "number of an event"),
    headers: { "last-event-id": "x" },
  },
];

const QUERY_BODIES: BadRequest[] = [
  ["an unknown field", { run: [] }, "/run", "is not a known field; the fields are runs"],
  ["a bit set above 127", { runs: ["a"], states: [128] }, "/states/0", "at most 127"],
  ["an unknown state", { runs: ["a"], states: ["finished"] }, "/states/0", "must be one of"],
  ["10,001 ids", { runs: Array(10_001).fill("a") }, "/runs", "at most 10000 entries"],
  ["a number as wait", { runs: ["a"], wait: 5 }, "/wait", "duration in quotes"],
].map(([name, body, pointer, detail]) => ({
  ...post(`a query with ${name}`, body, String(pointer), String(detail)),
  path: "/v1/runs/query",
}));

const POOLS: BadRequest[] = [
  put("no provider", { provider: undefined }, "/provider", "is required"),
  put(
    "an unknown provider",
    { provider: { kind: "aws", url: "http://x", secret: "s" } },
    "/provider/kind",
    "http",
  ),
  put(
    "a provider without a URL",
    { provider: { kind: "http", secret: "s", url: "x" } },
    "/provider/url",
    "URL",
  ),
  put("no instance type", { instanceTypes: {} }, "/instanceTypes", "at least one"),
  put(
    "a type with an odd name",
    { instanceTypes: { "A!": { vcpus: 1, memory: 1 } } },
    "/instanceTypes/A!",
    "name",
  ),
  put("a type without memory", { instanceTypes: { a: { vcpus: 1 } } }, "/instanceTypes/a/memory", "bytes"),
  put("a lease that is too short", { timeouts: { lease: "1m" } }, "/timeouts/lease", "at least 2m"),
  put("a number as time-out", { timeouts: { idle: 60 } }, "/timeouts/idle", "duration in quotes"),
  put(
    "an unknown field",
    { maxInstance: 3 },
    "/maxInstance",
    "is not a known field; the fields are provider",
  ),
  put("a later field", { timeouts: { term: "2m" } }, "/timeouts/term", "is not supported yet"),
  put("logs that outlive runs", { retention: { runs: "1h", logs: "2h" } }, "/retention/logs", "longer than"),
  put(
    "more machines at least than at most",
    { minInstances: 2, maxInstances: 1 },
    "/minInstances",
    "at most",
  ),
  put(
    "a time-out that is over before the next report",
    { timeouts: { boot: "1s" } },
    "/timeouts/boot",
    "interval",
  ),
  put("a tag of Drover's own", { tags: { "drover-worker": "w" } }, "/tags", "which are reserved"),
  put("a later field inside", { timeouts: { term: "2m" } }, "/timeouts/term", "is not supported yet"),
  put("a negative number", { minInstances: -1 }, "/minInstances", "at least 0"),
  { ...put("a name with odd characters", {}, "{name}", "lower-case letters"), path: "/v1/pools/A_B" },
];

/** Bad fields: of a spec, of a query, of a pool's configuration. */
export const BAD_FIELDS: BadRequest[] = [
  ...SIGNALED,
  ...SPECS,
  ...GROUPS,
  ...CHECKS,
  ...RESTARTS,
  ...UPDATES,
  ...BATCHES,
  ...QUERIES,
  ...QUERY_BODIES,
  ...POOLS,
];
