// How does a shim run one command after the other (decisions/hosts.md#shims-that-serve)?
import { type ChildProcess, spawn } from "node:child_process";
import { type Proc, parseStat, readProc, schedulingOf } from "../../../posix/proc.ts";
import type { Millis } from "../../../src/shared/machine.ts";
import { quoteArgv } from "../../../src/shared/shell-words.ts";
import { retryWhileStarved } from "../processes/retry-while-starved.ts";
import script from "./serve.sh";
import {
  filesOf,
  readShimFile,
  SHIM_FUNCTIONS,
  type ShimCommand,
  type Started,
  UNNAMED,
  withoutComments,
  wordsOf,
} from "./shim.ts";

const BEGINS_MS: Millis = 60_000;
/** The longest text of a command for a shim. A longer one may be more than the system passes to a process. */
const MAX_TEXT_BYTES = 65_536;
/** What a shell can export; and names that a shell keeps for itself, or that it cannot set to any text. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const SHELL_NAMES = new RegExp(
  "^(_|BASHOPTS|BASH_VERSINFO|DIRSTACK|E?UID|FUNCNAME|GROUPS|IFS|LINENO|(OLD)?PWD|OPTIND|PPID|RANDOM" +
    "|SECONDS|SHELLOPTS)$",
);

/** That of this agent, which nobody changes. */
let ownScheduling: string | undefined;

const PROGRAM = SHIM_FUNCTIONS + withoutComments(script);

/**
 * The text that makes a shim run a command. Undefined: it needs a shim of its own, since a shell cannot set
 * its environment, or since only the system says whether it is too large.
 */
export function textOf(command: ShimCommand): string | undefined {
  const names = Object.keys(command.env);
  if (!names.every((name) => NAME.test(name) && !SHELL_NAMES.test(name))) return undefined;
  const [input, stdout, exit, stderr] = filesOf(command).map((file) => quoteArgv([file]));
  const entries = Object.entries(command.env).map((entry) => entry.join("="));
  const text = `__drover_agent=${process.pid} __drover_dir=${quoteArgv([command.dir])}
__drover_export() { ${entries.length === 0 ? ":" : `export ${quoteArgv(entries)}`}; }
__drover_run ${quoteArgv(wordsOf(command))} <${input} >>${stdout} 2>>${exit} 3>>${stderr}
echo "over $?" >&4
unset -f __drover_export
`;
  return Buffer.byteLength(text) > MAX_TEXT_BYTES || text.includes("\0") ? undefined : text;
}

/** A shim that serves one command at a time. It ends with the agent, but not before its command. */
export class ServingShim {
  /** It has ended. */
  isGone = false;
  readonly #child: ChildProcess;
  readonly #beginsMs: Millis;
  #identity: Proc | undefined;
  /** The start of a line that has not ended. */
  #rest = "";
  /** What waits for the command of the moment. */
  #waiting: { begun: (main: Proc | undefined) => void; over: (status: number | null) => void } | undefined;

  /**
   * `env`: what each command gets anyway. `gone`: called once the shim has ended. `beginsMs`: how long a
   * command may take to begin; after that the shim hangs, and is killed.
   */
  constructor(env: Record<string, string>, gone = (_shim: ServingShim) => {}, beginsMs = BEGINS_MS) {
    this.#beginsMs = beginsMs;
    this.#child = spawn("/bin/sh", { cwd: "/", env, detached: true, stdio: ["pipe", "pipe", "ignore"] });
    const end = (status: number | null) => {
      this.isGone = true;
      gone(this);
      this.#over(status);
    };
    this.#child.once("exit", end);
    this.#child.once("error", () => end(null));
    // What is written to a shim that has died is lost, and its end says so.
    this.#child.stdin?.on("error", () => undefined);
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#read(text));
    this.#child.stdin?.write(PROGRAM);
  }

  /**
   * Runs a command, one at a time. `text`: of `textOf`. Undefined: it has not begun, and this shim will not
   * begin it.
   */
  async start(text: string, { files }: ShimCommand): Promise<Started | undefined> {
    // Before it begins: afterwards its end must not be told first.
    this.#identity ??= await retryWhileStarved(() => readProc(this.#child.pid ?? 0));
    if (this.isGone) return undefined;
    let main: Promise<Proc | undefined> = Promise.resolve(undefined);
    const ended = new Promise<number | null>((over) => {
      main = new Promise((begun) => {
        this.#waiting = { begun, over };
      });
    });
    const deadline = setTimeout(() => this.#child.kill("SIGKILL"), this.#beginsMs);
    this.#child.stdin?.write(text);
    const began = await main;
    clearTimeout(deadline);
    const shim = this.#identity;
    if (began !== undefined) return { shim, main: began, ended };
    // Without a main process: the disk is full, the system cannot fork, or a file could not be opened.
    const file = await retryWhileStarved(() => readShimFile(files));
    const hasBegun = file.shim !== undefined || (await ended) === UNNAMED;
    return hasBegun ? { shim, ended: ended.then(inLaterTurn) } : undefined;
  }

  /** Whether commands still begin as those of this agent do: one may have changed its shim's priority. */
  get isUnchanged(): boolean {
    const { pid } = this.#child;
    ownScheduling ??= schedulingOf(process.pid);
    return pid !== undefined && schedulingOf(pid) === ownScheduling;
  }

  /** Ends the shim, once its command has ended. */
  end(): void {
    this.#child.stdin?.end();
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const [, word, value = ""] = /^(\w+) (.*)$/.exec(line) ?? [];
      if (word === "begun") this.#waiting?.begun(parseStat(value));
      if (word === "over") void inLaterTurn(Number(value)).then((status) => this.#over(status));
    }
  }

  #over(status: number | null): void {
    this.#waiting?.begun(undefined);
    this.#waiting?.over(status);
    this.#waiting = undefined;
  }
}

/** In a later turn of the event loop, as the end of a process: until then its start has been noted. */
function inLaterTurn<Value>(value: Value): Promise<Value> {
  return new Promise((resolve) => setImmediate(resolve, value));
}
