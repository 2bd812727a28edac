// `npm run check`: everything that can be said of the sources without running them. Formatting and lint
// (Biome, a warning is an error), the types of both environments, and whether the Worker could be deployed as
// it is. What these cannot say is in `test/tidy.test.ts`.
import { run } from "./env.mjs";
import { lastLine } from "./tally.mjs";

const CHECKS = [
  { name: "format and lint", command: "biome", args: ["check", "--error-on-warnings", "."] },
  { name: "types, workerd", command: "tsc", args: ["-p", "tsconfig.workerd.json"] },
  { name: "types, Node", command: "tsc", args: ["-p", "tsconfig.node.json"] },
  // wrangler bundles the Worker by itself and looks for its objects: no account, no network, two seconds.
  { name: "deployable", command: "wrangler", args: ["deploy", "--dry-run", "--outdir", ".cache/deploy"] },
];

/** Runs one check, shows its output if it has failed, and answers whether it passed. */
async function check({ name, command, args }) {
  const startedAt = performance.now();
  const { code, output } = await run(command, args, { capture: true });
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  if (code !== 0) console.error(`${output.trimEnd()}\n`);
  console.log(`${code === 0 ? "passed" : "FAILED"}  ${name} (${seconds} s)  ${[command, ...args].join(" ")}`);
  return code === 0;
}

const passed = [];
// Sources import what is generated, which git does not carry. It is made anew each time, so that a route that
// has changed is held against the client that calls it.
passed.push(await check({ name: "build", command: "node", args: ["scripts/build.mjs"] }));
passed.push(...(await Promise.all(CHECKS.map(check))));

const failed = passed.filter((ok) => !ok).length;
console.log(lastLine({ passed: passed.length - failed, failed }));
process.exitCode = failed === 0 ? 0 : 1;
