// `npm run check`: everything that can be checked without running the sources: format, lint (warnings are
// errors), types of both environments, and whether the Worker could be deployed. `test/tidy.test.ts` has the
// other rules.
import { run } from "./env.mjs";
import { lastLine } from "./tally.mjs";

const CHECKS = [
  { name: "format and lint", command: "biome", args: ["check", "--error-on-warnings", "."] },
  { name: "types, workerd", command: "tsc", args: ["-p", "tsconfig.workerd.json"] },
  { name: "types, Node", command: "tsc", args: ["-p", "tsconfig.node.json"] },
  // wrangler bundles the Worker by itself and looks for its objects: no account, no network, two seconds.
  {
    name: "deployable",
    command: "wrangler",
    args: ["deploy", "--dry-run", "--outdir", ".cache/deploy"],
    fault: tooHeavy,
  },
];

/** Every isolate loads all of the Worker before it answers its first request. */
const MAX_WORKER_KIB = 450;

/** What is wrong with the size of the Worker, as wrangler prints it; undefined: nothing. */
function tooHeavy(output) {
  const [, kib] = /gzip: ([\d.]+) KiB/.exec(output) ?? [];
  if (kib === undefined) return "wrangler has not printed the size of the Worker";
  return Number(kib) <= MAX_WORKER_KIB
    ? undefined
    : `the Worker has ${kib} KiB gzip; at most ${MAX_WORKER_KIB}`;
}

/** Runs one check, shows its output if it has failed, and answers whether it passed. */
async function check({ name, command, args, fault = () => undefined }) {
  const startedAt = performance.now();
  const { code, output } = await run(command, args, { capture: true });
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const wrong = code === 0 ? fault(output) : output.trimEnd();
  if (wrong !== undefined) console.error(`${wrong}\n`);
  const verdict = wrong === undefined ? "passed" : "FAILED";
  console.log(`${verdict}  ${name} (${seconds} s)  ${[command, ...args].join(" ")}`);
  return wrong === undefined;
}

const passed = [];
// Sources import what is generated, which git does not carry. It is made anew each time, so that a route that
// has changed is held against the client that calls it.
passed.push(await check({ name: "build", command: "node", args: ["scripts/build.mjs"] }));
passed.push(...(await Promise.all(CHECKS.map(check))));

const failed = passed.filter((ok) => !ok).length;
console.log(lastLine({ passed: passed.length - failed, failed }));
process.exitCode = failed === 0 ? 0 : 1;
