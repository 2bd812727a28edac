// `npm run demo`: does Drover do its main job, without any set-up? Boots a machine, builds and tests a small
// project with live output, runs more on the warm machine, prints the time of each phase, and checks that
// nothing is left. Exits with 0 if everything worked.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { drover, droverJson, started } from "./demo/drover.mjs";
import { check, Failure, isOpen, killProcessesWith, processesWith, until } from "./demo/expect.mjs";
import { phaseTable, startLine } from "./demo/phases.mjs";
import { cacheDir, root } from "./env.mjs";

/** The limit of the whole demo. It takes about fifteen seconds, and longer on a busy machine. */
const DEMO_WITHIN_MS = 240_000;
const STEP_WITHIN_MS = 60_000;
/**
 * How long the machine waits for more work. The default of a minute is too long to watch, but a busy laptop
 * may need some seconds between two commands, and one machine should run them all.
 */
const IDLE = "10s";
const LONG = "echo working; exec sleep 600";

mkdirSync(cacheDir, { recursive: true });
const scratch = mkdtempSync(join(cacheDir, "demo-"));
const stateDir = join(scratch, ".drover");
const project = join(scratch, "project");
let failing = false;
const timer = setTimeout(
  () => fail(new Failure(`It took more than ${DEMO_WITHIN_MS / 1_000} s.`)),
  DEMO_WITHIN_MS,
);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => fail(new Failure(`The demo was ended by ${signal}.`)));
}

try {
  await demo();
} catch (error) {
  await fail(error);
}
clearTimeout(timer);
rmSync(scratch, { recursive: true, force: true });

async function demo() {
  cpSync(join(root, "demo/project"), project, { recursive: true });
  rmSync(join(project, "dist"), { recursive: true, force: true });

  step("Start Drover on this machine", "drover up");
  const up = drover(scratch, ["up", "--state", stateDir]);
  await until("`drover up` has started", STEP_WITHIN_MS, () => isUp(up));
  await shortenIdle();

  await run("cold", "Build and test a project, on a machine that does not exist yet", 0, [
    ...["--env", "PATH", "--", "npm", "test"],
  ]);
  check(
    existsSync(join(project, "dist/puzzles.json")),
    "The build left no dist/puzzles.json in the project.",
  );
  await run("warm", "Once more, on the machine that is there now", 0, ["--env", "PATH", "--", "npm", "test"]);
  await run("exit-3", "A command that fails keeps its exit code", 3, ["--", "sh", "-c", "exit 3"]);
  await runAndInterrupt();

  step("How long each phase took, counted from the submission", "drover status <run> --json");
  await showPhases(["cold", "warm", "exit-3", "aborted"]);

  step(`Nothing to do for ${IDLE}: the machine is destroyed`, "drover workers");
  await until("no machine is left", STEP_WITHIN_MS, noMachines);
  console.log("No machines.");

  step("Stop", "Ctrl-C");
  const ports = portsOf();
  up.child.kill("SIGINT");
  check((await up.ended) === 0, "`drover up` did not end with exit code 0.");
  await nothingIsLeft(ports);
  console.log("\nAll of it worked, and nothing is left running.");
}

function step(what, command) {
  console.log(`\n── ${what}\n   $ ${command}`);
}

async function isUp(up) {
  check(up.child.exitCode === null, `\`drover up\` ended with ${up.child.exitCode}.`);
  return existsSync(join(stateDir, "context.json"));
}

/** Runs a command to its end, showing its output, and checks its exit code. */
async function run(id, what, expected, args) {
  step(what, `drover run ${args.map((word) => (word.includes(" ") ? `'${word}'` : word)).join(" ")}`);
  const code = await drover(project, ["run", "--id", id, ...args]).ended;
  check(code === expected, `The run ${id} ended with exit code ${code} instead of ${expected}.`);
  if (expected !== 0) console.log(`exit code ${code}`);
  console.log(startLine(await droverJson(project, ["status", id])));
}

async function runAndInterrupt() {
  step("Ctrl-C aborts a run, wherever it is", `drover run -- sh -c '${LONG}'`);
  const running = drover(project, ["run", "--id", "aborted", "--", "sh", "-c", LONG]);
  await until("the command prints something", STEP_WITHIN_MS, () => running.output.includes("working"));
  running.child.kill("SIGINT");
  const code = await running.ended;
  check(code === 130, `The aborted command ended with exit code ${code} instead of 130.`);
  const { state } = await droverJson(project, ["status", "aborted"]);
  check(state === "aborted", `The aborted run is ${state}.`);
}

async function showPhases(ids) {
  const runs = await Promise.all(ids.map((id) => droverJson(project, ["status", id])));
  const names = new Set(runs.flatMap(({ placements }) => placements.map(({ worker }) => worker)));
  check(names.size === 1, `One machine should have run everything, but these did: ${[...names].join(", ")}.`);
  const workers = new Map();
  for (const name of names) workers.set(name, await droverJson(project, ["workers", name]));
  console.log(phaseTable(runs, workers));
}

async function noMachines() {
  const workers = await droverJson(project, ["workers"]);
  return (
    workers.every(({ state }) => state === "gone") &&
    processesWith(`DROVER_INSTANCE=${stateDir}`).length === 0
  );
}

/**
 * Puts the pool again with the demo's idle time. The provider's secret comes from a file, because no answer
 * shows it.
 */
async function shortenIdle() {
  const { url, token } = JSON.parse(readFileSync(join(stateDir, "context.json"), "utf8"));
  const { providerSecret } = JSON.parse(readFileSync(join(stateDir, "up.json"), "utf8"));
  const pool = `${url}/v1/pools/default`;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const { config } = await (await fetch(pool, { headers })).json();
  config.provider.secret = providerSecret;
  config.timeouts.idle = IDLE;
  const answer = await fetch(pool, { method: "PUT", headers, body: JSON.stringify(config) });
  check(answer.ok, `The pool could not be changed: ${answer.status} ${await answer.text()}`);
}

function portsOf() {
  const { port, cloudPort } = JSON.parse(readFileSync(join(stateDir, "up.json"), "utf8"));
  return [port, cloudPort];
}

async function nothingIsLeft(ports) {
  // Every process of the runtime and of the machines has the state directory in its environment.
  const left = processesWith(stateDir);
  check(left.length === 0, `These processes are still running: ${left.join(", ")}.`);
  for (const port of ports) check(!(await isOpen(port)), `A program still listens on port ${port}.`);
  for (const name of ["context.json", "lock"]) {
    check(!existsSync(join(stateDir, name)), `${name} is still in the state directory.`);
  }
}

/** Prints the error, ends all processes, and exits with 1. The state directory stays for inspection. */
async function fail(error) {
  if (failing) return;
  failing = true;
  console.error(`\nThe demo failed: ${error instanceof Failure ? error.message : error.stack}`);
  console.error(`Its files are in ${scratch}`);
  for (const { child } of started) child.kill("SIGINT");
  const ended = Promise.all([...started].map((running) => running.ended));
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 10_000))]);
  for (const { child } of started) child.kill("SIGKILL");
  killProcessesWith(stateDir);
  process.exit(1);
}
