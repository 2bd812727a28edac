// How is wrangler found and called (deploy.md#wrangler)?
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { errorText } from "../../src/shared/words.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../terminal/io.ts";
import type { Said } from "./failure.ts";

/** The version that Drover was built and tested with. */
declare const WRANGLER_VERSION: string;

/** wrangler does not start on older ones. */
const LEAST_NODE = 22;
/** How long wrangler may take to end when it is asked to, ms. */
const END_MS = 30_000;

/** A line that wrangler writes for programs. */
export interface Entry {
  type: string;
  message?: string;
  targets?: string[];
}

/** What a call has said, with its entries. */
export interface Answer extends Said {
  entries: Entry[];
}

/** wrangler, with a private directory for what it is to read. */
export interface Wrangler {
  /** Calls it without a terminal. `input`: its standard input. */
  call(args: string[], input?: string): Promise<Answer>;
  /** Calls it at this terminal, for a login in the browser. */
  attended(args: string[]): Promise<number>;
  /** All calls from now on are about this account. Some commands of wrangler do not read a configuration. */
  useAccount(id: string): void;
  /** Writes a file for it, without secrets; returns the path. */
  file(name: string, content: object): string;
  /** Ends a call that is being made, and removes the private directory. */
  close(): Promise<void>;
}

/** Opens wrangler. Throws a `CliError` if it cannot run here. */
export function openWrangler({ env, say }: Pick<Io, "env" | "say">): Wrangler {
  const [major] = process.versions.node.split(".");
  if (Number(major) < LEAST_NODE) {
    throw new CliError(`wrangler needs Node ${LEAST_NODE}, and this is Node ${process.versions.node}.`, [
      "Deploy with a newer Node. Everything else of this command works here.",
    ]);
  }
  const [program = "", ...first] = commandOf();
  const directory = mkdtempSync(join(tmpdir(), "drover-deploy-"));
  const output = join(directory, "output.ndjson");
  const surroundings: NodeJS.ProcessEnv = {
    ...env,
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_OUTPUT_FILE_PATH: output,
    NO_COLOR: "1",
    FORCE_COLOR: "0",
  };
  const running = new Set<ChildProcess>();
  const start = (args: string[], options: { env: NodeJS.ProcessEnv; stdio: "inherit" | "pipe" }) => {
    const child = spawn(program, [...first, ...args], { cwd: directory, ...options });
    running.add(child.once("exit", () => running.delete(child)));
    return child;
  };
  return {
    async call(args, input = "") {
      rmSync(output, { force: true });
      const child = start(args, { env: { ...surroundings, CI: "1" }, stdio: "pipe" });
      const said = { stdout: "", stderr: "" };
      for (const stream of ["stdout", "stderr"] as const) {
        child[stream]?.setEncoding("utf8").on("data", (text: string) => {
          said[stream] += text;
        });
      }
      child.stdin?.on("error", () => undefined).end(input); // it may end without reading
      const code = await endOf(child, program);
      const entries = entriesIn(output);
      const failure = entries.find(({ type }) => type === "command-failed")?.message;
      return { code, ...said, failure, entries };
    },
    attended: (args) => endOf(start(args, { env: surroundings, stdio: "inherit" }), program),
    useAccount(id) {
      surroundings.CLOUDFLARE_ACCOUNT_ID = id;
    },
    file(name, content) {
      const path = join(directory, name);
      writeFileSync(path, JSON.stringify(content), { mode: 0o600 });
      return path;
    },
    async close() {
      for (const child of running) {
        if (!(await ended(child)))
          await say(`wrangler (process ${child.pid}) does not end, and may go on by itself`);
      }
      // What it has started may still be writing there.
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * The command that runs wrangler: the one that Node finds from this package, if it is of the version that
 * Drover was tested with, or else that version by npm. A global one may be of any version.
 */
function commandOf(): string[] {
  try {
    const manifest = createRequire(import.meta.url).resolve("wrangler/package.json");
    const { bin, version } = JSON.parse(readFileSync(manifest, "utf8"));
    if (version === WRANGLER_VERSION) return [process.execPath, join(dirname(manifest), bin.wrangler)];
  } catch {
    // It is not installed.
  }
  return ["npx", "--yes", `wrangler@${WRANGLER_VERSION}`];
}

/**
 * Asks wrangler to end, which passes it on to the process that it has started and waits for it. Resolves with
 * whether it has ended: to kill it would leave that process behind.
 */
async function ended(child: ChildProcess): Promise<boolean> {
  if (child.pid === undefined) return true; // it could not be started
  const over = once(child, "exit", { signal: AbortSignal.timeout(END_MS) });
  child.kill("SIGTERM");
  return over.then(
    () => true,
    () => false,
  );
}

function endOf(child: ChildProcess, program: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", (error) =>
      reject(
        new CliError(`Cannot start ${program}: ${errorText(error)}`, [
          "npm, which comes with Node, fetches wrangler. Install it.",
        ]),
      ),
    );
    child.once("close", (code) => resolve(code ?? 1));
  });
}

function entriesIn(path: string): Entry[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.filter((line) => line !== "").map((line): Entry => JSON.parse(line));
}
