import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Example } from "./examples.ts";

const ROOT = join(import.meta.dirname, "../../..");
const COMMAND = join(ROOT, "bin/drover.mjs");
/** The folder of the recipes' scripts, which readers copy to where they are. */
const RECIPES = join(ROOT, "docs/recipes");

/** What came of an example: what it wrote, on both streams, and how its last command ended. */
export interface Outcome {
  output: string;
  /** 0, if all of it went well; undefined, if an earlier example has ended the shell. */
  code: number | undefined;
}

/** Where a person reads the documents, and types their commands. */
export interface Reader {
  /** Where `drover up` runs, too. */
  home: string;
  path: string;
}

/**
 * What is never run from a document: it needs an account, a cloud or a terminal of its own, or it would
 * change this very checkout, which contains the reader's folder and where `npm` would find it.
 */
export const NOT_HERE = new RegExp(
  String.raw`\b(?:wrangler|npm|npx|yarn|pnpm|podman|git|sudo|alias|drover (?:up|deploy)|openssl|aws|` +
    "DROVER_OIDC_URL|hcloud server|gcloud|" +
    String.raw`fly (?:apps|tokens|machine)|example\.(?:com|dev)|workers\.dev)\b`,
);

/** Tools that change a checkout. The reader gets a command that fails in place of each. */
const WITHHELD = ["npm", "npx", "yarn", "pnpm", "wrangler", "sudo"];

/** What a command also says when it takes long, as on a busy machine: no document shows it. */
const WAITS = new RegExp(
  String.raw`^drover: (?:Run \S+(?: waits)?: |Looking for the files|Packing |Uploading |` +
    "Copying (?:from|into) run |Fetching the snapshot|Waits for the runs|" +
    String.raw`\d+ runs? (?:has|have) not ended$|\d+ runs? (?:is|are) not healthy$|` +
    String.raw`The machine of the run is not connected|It is connected\.).*\n`,
  "gm",
);

/** How long the examples of one document may take together on a busy machine. */
export const WITHIN_MS = 300_000;

/**
 * Gives a reader the command, the scripts of the recipes and one of theirs to run, and nothing that could
 * change the checkout around their folder.
 */
export function makeReader(home: string): Reader {
  const bin = join(home, "bin");
  mkdirSync(bin);
  const drover = `exec "${process.execPath}" "${COMMAND}" "$@"`;
  writeScript(join(bin, "drover"), drover);
  writeScript(join(bin, "node"), `exec "${process.execPath}" "$@"`);
  for (const tool of WITHHELD)
    writeScript(join(bin, tool), `echo "${tool} is not for examples" >&2; exit 97`);
  // The command itself asks Git whether its context came with the repository: that changes nothing.
  const path = `PATH='${process.env.PATH}'`;
  const refusal = 'echo "git is not for examples" >&2; exit 97';
  writeScript(join(bin, "git"), `case " $* " in *" ls-files "*) ${path} exec git "$@" ;; esac\n${refusal}`);
  writeScript(join(home, "build.sh"), "echo compiling\necho done");
  const scripts = readdirSync(RECIPES).filter((name) => name.endsWith(".sh"));
  for (const name of scripts) copyFileSync(join(RECIPES, name), join(home, name));
  return { home, path: `${bin}:${process.env.PATH}` };
}

function writeScript(file: string, text: string): void {
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
}

/**
 * Runs the examples of one document one after the other in one shell, as a reader would, so that each example
 * has what earlier ones have set. The shell ends at the first command that fails: a document that shows a
 * failure says so, with `echo $?` or `||`. Throws, before anything runs, if an example must not be run here.
 */
export async function runExamples(examples: readonly Example[], reader: Reader): Promise<Outcome[]> {
  const forbidden = examples.find(({ script }) => NOT_HERE.test(script));
  if (forbidden !== undefined)
    throw new Error(`line ${forbidden.line} must not be run: make it a shell block`);
  const mark = `=== ${randomBytes(8).toString("hex")}`;
  const script = examples.map((one) => `${one.script}\necho\necho "${mark}"\n`).join("");
  const child = spawn("/bin/sh", ["-e", "-c", `exec 2>&1\n${script}`], {
    cwd: reader.home,
    env: { PATH: reader.path, HOME: reader.home, LANG: "C.UTF-8" },
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const tooLong = setTimeout(() => killGroup(child), WITHIN_MS);
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve(status ?? 128));
  }).finally(() => clearTimeout(tooLong));
  // A later example ends what an earlier one began in the background, unless one between them fails.
  if (code !== 0) killGroup(child);
  const pieces = said.replaceAll(WAITS, "").split(`\n${mark}\n`);
  return examples.map((_, index) => {
    const output = pieces[index] ?? "";
    if (index < pieces.length - 1) return { output, code: 0 };
    return { output, code: index === pieces.length - 1 ? code : undefined };
  });
}

/** Ends the shell with all that it has started. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has just ended by itself.
  }
}
