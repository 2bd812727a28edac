// `npm run dev`: how does `drover up` follow the sources? This rebuilds and restarts it when they change.
// While a build fails, the last good build keeps running. Arguments (`-- --machines 2`) go to `drover up`.
// Ctrl-C ends `drover up` and this script, and a second Ctrl-C ends them immediately.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, watchFile } from "node:fs";
import { join } from "node:path";
import { context } from "esbuild";
import { agentOptions, commandOptions, pageOptions, root, worker } from "./bundles.mjs";
import { checkoutEnv, run } from "./env.mjs";
import { writeAgentModule, writeApiModule, writeWorkerOptions } from "./generated.mjs";
import { copyDocument, PAGE_FILES } from "./page.mjs";

/** `drover up` restarts this long after the last build, since one change can rebuild several bundles. */
const QUIET_MS = 300;
/** How long `drover up` may take to end before it is killed. It gives its runs ten seconds to end. */
const END_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 500;

/** What changes when a bundle changes. The page's script has the names of its parts, which are digests. */
const BUILT = ["worker.js", "worker-options.json", ...PAGE_FILES];

const say = (text) => console.log(`dev: ${text}`);

/** The current `drover up`: its process, the digest of its bundles, and the promise of its end. */
let up;
let stopping = false;
/** The bundle with `drover up` in it. Its name contains a digest of its content. */
let upFile = "";

/** The digest of the bundles that `drover up` would run if it started now. */
function currentBuild() {
  const hash = createHash("sha256").update(upFile);
  for (const file of BUILT) hash.update(readFileSync(join(root, "dist", file)));
  return hash.digest("hex");
}

function start() {
  const child = spawn(process.execPath, [join(root, "bin/drover.mjs"), "up", ...process.argv.slice(2)], {
    cwd: root,
    env: { ...process.env, ...checkoutEnv() },
    stdio: ["ignore", "inherit", "inherit"],
    // In its own process group: we pass Ctrl-C on to the group, and can end all of it.
    detached: true,
  });
  const started = { child, builtOf: currentBuild(), isEnding: false, ended: undefined };
  started.ended = new Promise((resolve) => {
    child.once("exit", (code, signal) => {
      signalGroup(started, "SIGKILL");
      up = undefined;
      if (!started.isEnding) say(`\`drover up\` has ended (${code ?? signal}). The next change restarts it.`);
      resolve(code ?? 1);
    });
  });
  up = started;
}

function signalGroup({ child }, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has ended.
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

/** Restarts run one after another. */
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
  if (up?.builtOf === currentBuild()) return say("built; the bundles of `drover up` have not changed.");
  if (up !== undefined) {
    say("changed: restarting `drover up`.");
    await end();
  }
  if (!stopping) start();
}

/** The bundles that have been built at least once. `drover up` needs all four. */
const built = new Set();

/** Calls `act` after each build that succeeds. esbuild prints the errors of a failed build. */
async function watched(name, options, act) {
  const setup = (build) =>
    build.onEnd(async (result) => {
      if (stopping) return;
      if (result.errors.length > 0) return say(`${name} could not be built. The last build keeps running.`);
      await act(result);
      built.add(name);
      if (built.size === 4) restartSoon();
    });
  const made = await context({ ...options, metafile: true, plugins: [{ name: "then", setup }] });
  await made.watch();
}

async function stop() {
  // A second Ctrl-C, which `drover up` handles itself.
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
await watched("the page", pageOptions(join(root, "dist/assets/ui/files")), () => undefined);
await watched("the command", commandOptions(), ({ metafile }) => {
  const files = Object.entries(metafile.outputs);
  [upFile] = files.find(([, { entryPoint }]) => entryPoint === "local/up-command.ts") ?? [""];
});
const others = {
  "agent/install.sh": writeAgentModule,
  "wrangler.toml": writeWorkerOptions,
  "ui/index.html": () => copyDocument(join(root, "dist/assets")),
};
for (const [file, act] of Object.entries(others)) {
  watchFile(join(root, file), { interval: LOOK_EVERY_MS }, () => {
    act();
    restartSoon();
  });
}
