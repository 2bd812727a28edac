// `npm run dev`: builds, starts `drover up`, and does both again when a source changes that they are made of.
// What fails to build is said, and what ran before goes on. Arguments go to `drover up`: `npm run dev --
// --machines 3`. Ctrl-C ends all of it, as it ends `drover up`; a second one ends it at once.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, watchFile } from "node:fs";
import { join } from "node:path";
import { context } from "esbuild";
import { agentOptions, command, root, worker } from "./bundles.mjs";
import { checkoutEnv, run } from "./env.mjs";
import { writeAgentModule, writeApiModule, writeWorkerOptions } from "./generated.mjs";

/** One change can make several bundles, one after the other: `drover up` starts this long after the last. */
const QUIET_MS = 300;
/** `drover up` gives its runs ten seconds. What has not ended after this is killed. */
const END_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 500;

const say = (text) => console.log(`dev: ${text}`);

/** The `drover up` of now: its process group, what it was made of, and its end. */
let up;
let stopping = false;
/** The file of the bundles that has `drover up` in it; its name has a digest of all that it consists of. */
let upFile = "";

/** What a `drover up` that is started now would be made of. */
function builtNow() {
  const hash = createHash("sha256").update(upFile);
  for (const file of ["worker.js", "worker-options.json"])
    hash.update(readFileSync(join(root, "dist", file)));
  return hash.digest("hex");
}

function start() {
  const child = spawn(process.execPath, [join(root, "bin/drover.mjs"), "up", ...process.argv.slice(2)], {
    cwd: root,
    env: { ...process.env, ...checkoutEnv() },
    stdio: ["ignore", "inherit", "inherit"],
    // A group of its own: Ctrl-C comes to it from here, and nothing of it can stay behind.
    detached: true,
  });
  const started = { child, builtOf: builtNow(), isEnding: false, ended: undefined };
  started.ended = new Promise((resolve) => {
    child.once("exit", (code, signal) => {
      signalGroup(started, "SIGKILL");
      up = undefined;
      if (!started.isEnding) say(`\`drover up\` has ended (${code ?? signal}). A change starts it again.`);
      resolve(code ?? 1);
    });
  });
  up = started;
}

function signalGroup({ child }, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Nothing of it is left.
  }
}

/** Ends `drover up` as Ctrl-C does, and resolves with its exit code. */
async function end() {
  if (up === undefined) return 0;
  const ending = up;
  ending.isEnding = true;
  const late = setTimeout(() => signalGroup(ending, "SIGKILL"), END_WITHIN_MS);
  signalGroup(ending, "SIGINT");
  const code = await ending.ended;
  clearTimeout(late);
  return code;
}

/** Steps come one after the other. */
let lastStep = Promise.resolve();
let timer;

function restartSoon() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    lastStep = lastStep.then(restart);
  }, QUIET_MS);
}

async function restart() {
  if (stopping) return;
  if (up?.builtOf === builtNow()) return say("built; nothing that `drover up` is made of has changed.");
  if (up !== undefined) {
    say("changed: `drover up` is restarted.");
    await end();
  }
  if (!stopping) start();
}

/** Bundles that have been built at least once. `drover up` needs all three. */
const built = new Set();

/** Calls `act` after each build that succeeds. esbuild itself says what is wrong with one that fails. */
async function watched(name, options, act) {
  const setup = (build) =>
    build.onEnd(async (result) => {
      if (stopping) return;
      if (result.errors.length > 0) return say(`${name} is not built. What was built before goes on.`);
      await act(result);
      built.add(name);
      if (built.size === 3) restartSoon();
    });
  const made = await context({ ...options, metafile: true, plugins: [{ name: "then", setup }] });
  await made.watch();
}

async function stop() {
  // A second Ctrl-C: `drover up` knows what that means.
  if (stopping) return up && signalGroup(up, "SIGINT");
  stopping = true;
  await lastStep;
  process.exit(await end());
}

const first = await run("node", ["scripts/build.mjs"]);
if (first.code !== 0) process.exit(1);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void stop());
process.on("exit", () => up && signalGroup(up, "SIGKILL"));

await watched("the agent", agentOptions(), writeAgentModule);
await watched("the Worker", worker, writeApiModule);
await watched("the command", command, ({ metafile }) => {
  const files = Object.entries(metafile.outputs);
  [upFile] = files.find(([, { entryPoint }]) => entryPoint === "local/up-command.ts") ?? [""];
});
const others = { "agent/install.sh": writeAgentModule, "wrangler.toml": writeWorkerOptions };
for (const [file, act] of Object.entries(others)) {
  watchFile(join(root, file), { interval: LOOK_EVERY_MS }, () => {
    act();
    restartSoon();
  });
}
