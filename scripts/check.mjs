// `npm run check`: are the sources formatted, free of lint warnings, well typed in both environments, and
// deployable? `test/tidy.test.ts` has the other rules.
import { run } from "./env.mjs";
import { lastLine } from "./tally.mjs";

const CHECKS = [
  { name: "format and lint", command: "biome", args: ["check", "--error-on-warnings", "."] },
  { name: "types, workerd", command: "tsc", args: ["-p", "tsconfig.workerd.json"] },
  { name: "types, Node", command: "tsc", args: ["-p", "tsconfig.node.json"] },
  { name: "types, page", command: "tsc", args: ["-p", "tsconfig.ui.json"] },
  // wrangler bundles the Worker itself and checks its objects, in two seconds, without account or network.
  {
    name: "deployable",
    command: "wrangler",
    args: ["deploy", "--dry-run", "--outdir", ".cache/deploy"],
    fault: tooHeavy,
  },
];

/** The largest Worker: every isolate loads it before it answers its first request. */
const MAX_WORKER_KIB = 450;

/** Why the size that wrangler prints is refused; undefined if it is accepted. */
function tooHeavy(output) {
  const [, kib] = /gzip: ([\d.]+) KiB/.exec(output) ?? [];
  if (kib === undefined) return "wrangler did not print the size of the Worker";
  return Number(kib) <= MAX_WORKER_KIB
    ? undefined
    : `the Worker has ${kib} KiB gzip; at most ${MAX_WORKER_KIB}`;
}

/** Runs one check, and prints its output if it failed. Resolves with true if it passed. */
async function check({ name, command, args, fault = () => undefined }) {
  const startedAt = performance.now();
  const { code, output } = await run(command, args, { capture: true });
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const problem = code === 0 ? fault(output) : output.trimEnd();
  if (problem !== undefined) console.error(`${problem}\n`);
  const verdict = problem === undefined ? "passed" : "FAILED";
  console.log(`${verdict}  ${name} (${seconds} s)  ${[command, ...args].join(" ")}`);
  return problem === undefined;
}

const passed = [];
// Sources import generated files, which are not in Git. Building them first also checks the client against
// routes that have changed.
passed.push(await check({ name: "build", command: "node", args: ["scripts/build.mjs"] }));
passed.push(...(await Promise.all(CHECKS.map(check))));

const failed = passed.filter((ok) => !ok).length;
console.log(lastLine({ passed: passed.length - failed, failed }));
process.exitCode = failed === 0 ? 0 : 1;
