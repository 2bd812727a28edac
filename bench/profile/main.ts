// `npm run profile`: what does the control plane do while it runs a batch? Prints the functions that take
// most time, and writes a `.cpuprofile` for browsers (budgets.md#profile). Its options: -- --help.
import { readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { runBatch } from "../batch.ts";
import { startDrover, warmUp } from "../drover.ts";
import { optionsOrExit } from "../options.ts";
import { agentsOf, between, partTimes } from "../processes.ts";
import { busyUs, functionsOf, type HotFunction, hottest } from "./hot.ts";
import { freePort, profileWhile } from "./inspector.ts";
import { HELP, profileOptions } from "./options.ts";
import { sourcesOf } from "./sources.ts";

/** Where Node opens its inspector on SIGUSR1. */
const NODE_PORT = 9229;

const {
  agent: isAgent,
  array: isArray,
  runs,
  out,
  top,
  everyUs,
} = optionsOrExit("profile", HELP, profileOptions);
const bundle = isAgent ? "drover-agent.mjs" : "worker.js";
const sourceOf = sourcesOf(readFileSync(join(import.meta.dirname, "../../dist", bundle), "utf8"));

const load = loadavg().map((one) => one.toFixed(2));
const port = isAgent ? NODE_PORT : await freePort();
const drover = await startDrover(isAgent ? {} : { env: { DROVER_INSPECTOR_PORT: String(port) } });
try {
  await warmUp(drover);
  // Code is compiled, and compiled again, in the first batch.
  await runBatch(drover, Math.min(runs, 100));
  if (isAgent) openInspector(agentsOf(drover)[0]);
  let seconds = 0;
  const before = partTimes(drover);
  const target = isAgent ? "" : "drover";
  const profile = await profileWhile(port, target, everyUs, async () => {
    seconds = await runBatch(drover, runs, { isArray });
  });
  const took = between(before, partTimes(drover));
  writeFileSync(out, JSON.stringify(profile));
  const functions = functionsOf(profile);
  print("by themselves", hottest(functions, "selfUs", top));
  print("with what they call", hottest(functions, "totalUs", top));
  const aRun = (ms: number) => `${(ms / runs).toFixed(2)} ms a run`;
  console.log(`${runs} runs in ${seconds.toFixed(1)} s, ${(runs / seconds).toFixed(0)} a second`);
  if (isAgent) console.log("The profiled agent has run about half of them; the other one the rest.");
  console.log(`The profiled thread was busy for ${aRun(busyUs(functions) / 1_000)}, by the clock.`);
  console.log(
    `Time of processors: control plane ${aRun(took.controlPlane)}, drover up ${aRun(took.up)}, ` +
      `agents ${aRun(took.agents)}, their children ${aRun(took.children)}; what is profiled takes more.`,
  );
  console.log(`The profile is in ${out}; load before ${load.join(" ")}`);
} finally {
  await drover.stop();
}

/** Makes a Node process open its inspector at the usual port: the one way that needs no flag at its start. */
function openInspector(pid: number | undefined): void {
  if (pid === undefined) throw new Error("No agent runs.");
  process.kill(pid, "SIGUSR1");
}

function print(how: string, functions: HotFunction[]): void {
  console.log(`| ms a run, ${how} | ms a run, in all | function | where |\n| --- | --- | --- | --- |`);
  for (const { name, at, selfUs, totalUs } of functions) {
    const [self, total] = [selfUs, totalUs].map((us) => (us / 1_000 / runs).toFixed(3));
    console.log(`| ${self} | ${total} | ${name} | ${at === undefined ? "" : placeOf(at)} |`);
  }
  console.log();
}

/** The source in the Worker, or else the script: the agent's bundle is minified, and names no sources. */
function placeOf({ url, line }: { url: string; line: number }): string {
  if (!url.endsWith(bundle)) return `${url}:${line}`;
  const source = sourceOf(line);
  return source === undefined ? `${bundle}:${line}` : `${source} (${bundle}:${line})`;
}
