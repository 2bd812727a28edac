import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { extract } from "tar";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";

// `drover/client` as somebody else's project has it: packed, unpacked where an installation would put it,
// with no other package beside it, so that neither the code nor the declarations can need one.

const ROOT = join(import.meta.dirname, "../..");

let home = "";
let project = "";
let running: RunningDrover | undefined;

beforeAll(async () => {
  home = makeHome("client");
  project = join(home, "project");
  const installed = join(project, "node_modules/drover");
  mkdirSync(installed, { recursive: true });
  execFileSync("npm", ["pack", "--ignore-scripts", "--offline", "--pack-destination", home], {
    cwd: ROOT,
    stdio: "pipe",
  });
  const file = readdirSync(home).find((name) => name.endsWith(".tgz")) ?? "no tarball";
  await extract({ file: join(home, file), cwd: installed, strip: 1 });
  running = await startDrover(home);
});
afterAll(async () => {
  await endDrover(home, running);
  rmSync(home, { recursive: true, force: true });
});

const PROGRAM = `
import { ApiError, createClient, type RunStatus } from "drover/client";

const drover = createClient({ url: String(process.argv[2]), token: String(process.argv[3]) });
const run = await drover.run({ argv: ["sh", "-c", "printf hello; exit 3"] });
let text = "";
for await (const bytes of run.logs()) text += new TextDecoder().decode(bytes);
const ended = await run.wait();
const facts = ended.state === "complete" ? [ended.exitCode, ended.failure] : [];

const sleeping = await drover.run({ argv: ["sleep", "600"] });
const aborted = await drover.abort(sleeping.id, { reason: "enough", wait: true });
const reason = aborted.state === "aborted" ? aborted.abort.reason : aborted.state;

const refused = await drover.wait("nobody").catch((error: unknown) => error);
const code = refused instanceof ApiError ? refused.code : String(refused);
console.log(JSON.stringify({ text, facts, reason, code }));

export function endOf(status: RunStatus): string | null {
  // @ts-expect-error: whether it has a failure depends on its state
  status.failure.code;
  return status.state === "failed" ? status.failure.code : status.finishedAt;
}
// @ts-expect-error: there is no such field in a run
void (() => drover.run({ argz: [] }));
declare const process: { argv: string[] };
`;

const TSCONFIG = {
  compilerOptions: {
    ...{ target: "es2023", lib: ["es2023", "dom"], module: "nodenext", types: [], outDir: "out" },
    ...{
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
    },
  },
  files: ["program.mts"],
};

test("a program with the installed package is checked by its types, and talks to a real Drover", () => {
  writeFileSync(join(project, "package.json"), '{ "name": "somebody-else", "private": true }');
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(TSCONFIG));
  writeFileSync(join(project, "program.mts"), PROGRAM);
  const checked = spawnSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc")], {
    cwd: project,
    encoding: "utf8",
  });
  expect(checked.stdout).toBe("");
  expect(checked.status).toBe(0);
  const { url = "", token = "" } = running ?? {};
  const ran = spawnSync(process.execPath, ["out/program.mjs", url, token], {
    cwd: project,
    encoding: "utf8",
  });
  expect(ran.stderr).toBe("");
  expect(JSON.parse(ran.stdout)).toEqual({
    text: "hello",
    facts: [3, null],
    reason: "enough",
    code: "unknown_run",
  });
});
