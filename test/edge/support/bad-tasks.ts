import { type BadRequest, post } from "./bad-fields.ts";

const argv = ["true"];

/** A run with a bad task: the task's fields besides its command, and the expected error at that place. */
function task(name: string, more: object, pointer: string, detail: string): BadRequest {
  return post(name, { tasks: [{ name: "main", argv, ...more }] }, `/tasks/0/${pointer}`, detail);
}

function artifact(name: string, more: object, field: string, detail: string): BadRequest {
  const whole = { url: "https://a.example/b", sha256: "0".repeat(64), to: "d", ...more };
  return task(name, { artifacts: [whole] }, `artifacts/0/${field}`, detail);
}

/** The same for a field of a group, or of a run without one. */
function run(name: string, more: object, pointer: string, detail: string): BadRequest {
  return post(name, { argv, ...more }, pointer, detail);
}

const URL_BEGINNING = "https://a.example/";

/** A run in a container with these fields, and the expected error at that place. */
function contained(name: string, more: object, pointer: string, detail: string): BadRequest {
  return run(name, { container: { image: "node:24", ...more } }, `/container/${pointer}`, detail);
}

const mount = (source: string, target = "/m") => ({ binds: [{ source, target }] });
const variables = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`V${i}`, ""]));

const CONTAINERS: BadRequest[] = [
  contained(
    "an image that is none",
    { image: "Not an image" },
    "image",
    "the name of an image in lower case",
  ),
  contained("an image of 513 characters", { image: "a".repeat(513) }, "image", "at most 512 characters"),
  contained("a mount of the machine", mount("/"), "binds/0/source", "name the directory that the task needs"),
  contained("a mount with a colon", mount("/a:b"), "binds/0/source", "use a path without one"),
  contained("a mount over the image", mount("/a", "/"), "binds/0/target", "name a directory below it"),
  contained("memory over the image", { tmpfs: { "/": "1GiB" } }, "tmpfs/~1", "name a directory below it"),
  contained("a limit of no name", { ulimits: { "a b": 1 } }, "ulimits/a b", "the name of a limit"),
  contained("a limit that is text", { ulimits: { nofile: "many" } }, "ulimits/nofile", "a number, or"),
  contained("a command of Docker's", { cmd: ["true"] }, "cmd", "is not a known field; the fields are image"),
  run(
    "10,000 variables of a container",
    { container: { image: "node:24" }, env: variables },
    "/env",
    "put the others into a file that the command reads",
  ),
];

const TASKS: BadRequest[] = [
  task("a name of 64 characters", { name: "a".repeat(64) }, "name", "1 to 63 lower-case letters"),
  task("a name that is empty", { name: "" }, "name", "1 to 63 lower-case letters"),
  task("an empty command", { argv: [] }, "argv", "must name a command"),
  task("a lifecycle that is a hook", { lifecycle: "prestart" }, "lifecycle", "must be an object"),
  task(
    "an unknown field of a lifecycle",
    { lifecycle: { hok: "x" } },
    "lifecycle/hok",
    "the fields are hook",
  ),
  task("a leader in words", { leader: "yes" }, "leader", "must be true or false"),
  task(
    "a time limit of its own",
    { timeout: "5s" },
    "timeout",
    "is not a known field; the fields are name, argv",
  ),
  task("a number as shutdown delay", { shutdownDelay: 2 }, "shutdownDelay", "duration in quotes"),
  task("a negative kill timeout", { killTimeout: "-1s" }, "killTimeout", "not negative"),
  task("a delay mode without attempts", { restart: { attempts: 0, mode: "delay" } }, "restart/attempts", "1"),
  task("a user without a name", { user: "" }, "user", "at least 1 character"),
  task("a user of 65 characters", { user: "u".repeat(65) }, "user", "at most 64 characters"),
  task("a user with a NUL", { user: "a\0b" }, "user", "must not contain a NUL"),
  task("65 artifacts", { artifacts: Array(65).fill({}) }, "artifacts", "at most 64 entries"),
  task(
    "a script that ends with no number",
    { driver: "fake", fake: { exitCode: -1 } },
    "fake/exitCode",
    "at least 0",
  ),
];

const ARTIFACTS: BadRequest[] = [
  artifact("an artifact that is on no web", { url: "file:///etc/passwd" }, "url", "an http or https URL"),
  artifact("an artifact without a host", { url: "/b.tar" }, "url", "must be an http or https URL"),
  artifact(
    "an artifact with a URL of 2,049 characters",
    { url: URL_BEGINNING.padEnd(2_049, "x") },
    "url",
    "at most 2048 characters",
  ),
  artifact("an artifact without a digest", { sha256: undefined }, "sha256", "is required"),
  artifact("a digest that is too short", { sha256: "0" }, "sha256", "64 lower-case hexadecimal digits"),
  artifact("a digest in capitals", { sha256: "A".repeat(64) }, "sha256", "64 lower-case hexadecimal"),
  artifact("an artifact for nowhere", { to: undefined }, "to", "is required"),
  artifact("an artifact that leads out", { to: "../d" }, "to", "must not lead outside"),
  artifact("an artifact that leads out later", { to: "a/../../d" }, "to", "must not lead outside"),
  artifact("an artifact at an absolute place", { to: "/etc" }, "to", "relative to the task's directory"),
  artifact("an artifact at a place with a NUL", { to: "a\0b" }, "to", "must not contain a NUL"),
  artifact("an unknown field of an artifact", { mode: "0755" }, "mode", "the fields are url, sha256, to"),
];

const POLICIES: BadRequest[] = [
  run("a negative number of restarts", { restart: { attempts: -1 } }, "/restart/attempts", "at least 0"),
  run("half a restart", { restart: { attempts: 1.5 } }, "/restart/attempts", "whole number"),
  run("an unknown field of a policy", { restart: { tries: 1 } }, "/restart/tries", "the fields are attempts"),
  run("a number as restart delay", { restart: { delay: 5 } }, "/restart/delay", "duration in quotes"),
  run(
    "a reschedule interval that is too short",
    { reschedule: { attempts: 1, interval: "14999ms" } },
    "/reschedule/interval",
    "at least 15s",
  ),
  run(
    "a bound below the delay",
    { reschedule: { attempts: 1, function: "exponential", delay: "10s", maxDelay: "9s" } },
    "/reschedule/maxDelay",
    "at least the delay, 10s",
  ),
  run(
    "an unknown function",
    { reschedule: { function: "linear" } },
    "/reschedule/function",
    "constant, exponential, fibonacci",
  ),
];

const LIMITS: BadRequest[] = [
  run("a queue time-out of nothing", { queueTimeout: "0s" }, "/queueTimeout", "longer than"),
  run("a number as kill timeout", { killTimeout: 5 }, "/killTimeout", "duration in quotes"),
  run("a shutdown delay without a unit", { shutdownDelay: "5" }, "/shutdownDelay", 'such as "250ms"'),
  run("a duration above a hundred years", { killTimeout: "36501d" }, "/killTimeout", "at most 100 years"),
  run(
    "less than a thousandth of a vCPU",
    { resources: { vcpus: 0.0005 } },
    "/resources/vcpus",
    "three digits",
  ),
  run("1,025 vCPUs", { resources: { vcpus: 1_025 } }, "/resources/vcpus", "from 0 to 1024"),
  run("65 GPUs", { resources: { gpus: 65 } }, "/resources/gpus", "at most 64"),
  run("a size that overflows", { resources: { disk: "8192TiB" } }, "/resources/disk", "less than 8192TiB"),
  run("a variable with a NUL", { env: { A: "\0" } }, "/env/A", "must not contain a NUL"),
  run("a directory that is empty", { dir: "" }, "/dir", "at least 1 character"),
];

/** Bad tasks, artifacts, policies and limits (api.md#refused-specs). */
export const BAD_TASKS: BadRequest[] = [...TASKS, ...CONTAINERS, ...ARTIFACTS, ...POLICIES, ...LIMITS];
