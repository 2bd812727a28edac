// The built command at a terminal: `script` of util-linux gives it one.
import { spawn, spawnSync } from "node:child_process";
import { onTestFinished } from "vitest";
import { quoteArgv } from "../../../src/shared/shell-words.ts";

/** Whether a terminal can be had here. */
export const HAS_TERMINAL = spawnSync("script", ["--version"]).status === 0;
export const NEEDS_TERMINAL = "`script` is not installed (Debian: bsdutils), so no terminal was tried";

/** How long the command may take until it asks the next thing. */
const PATIENCE_MS = 240_000;

/** A command at a terminal. */
export interface AtTerminal {
  /** Resolves when something new on the screen matches. */
  says(pattern: RegExp): Promise<void>;
  type(text: string): void;
  /** The exit code, and all that was on the screen. */
  ended: Promise<{ code: number | null; screen: string }>;
}

/** Starts a command at a terminal. */
export function atTerminal(argv: readonly string[], cwd: string, env: NodeJS.ProcessEnv): AtTerminal {
  const child = spawn("script", ["-qefc", quoteArgv(argv), "/dev/null"], {
    cwd,
    env: { SHELL: "/bin/sh", TERM: "xterm", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  // Each look for something on the screen listens for the end, too.
  child.setMaxListeners(0);
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let [screen, seen] = ["", 0];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
    child.emit("screen");
  });
  const ended = new Promise<{ code: number | null; screen: string }>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, screen }));
  });
  const says = (pattern: RegExp) =>
    new Promise<void>((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        child.off("screen", look);
      };
      const fail = (why: string) => {
        stop();
        reject(new Error(`${why} without ${pattern}; the screen: ${screen}`));
      };
      const timer = setTimeout(() => fail("it waited"), PATIENCE_MS);
      const look = () => {
        const found = pattern.exec(screen.slice(seen));
        if (found === null) return;
        seen += found.index + found[0].length;
        stop();
        resolve();
      };
      child.on("screen", look);
      child.once("close", () => fail("it ended"));
      look();
    });
  return { says, type: (text) => child.stdin.write(text), ended };
}
