// How does the benchmark find, start and end other programs?
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const READY_WITHIN_MS = 30_000;
const BETWEEN_LOOKS_MS = 50;
/** Where Debian has servers, which are not in the path of every user. */
const SERVERS = "/usr/sbin";

/** The path of a program, or undefined if the machine has none. */
export function programAt(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), SERVERS];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Starts a server that stays in the foreground, so that it can be ended by its pid. */
export function startServer(name: string, args: string[], env: Record<string, string> = {}): ChildProcess {
  const path = programAt(name);
  if (path === undefined) throw new Error(`${name} is not installed.`);
  return spawn(path, args, { stdio: "ignore", env: { ...process.env, ...env } });
}

/** Ends a server, and resolves when it is gone. */
export async function endServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = once(server, "exit");
  server.kill("SIGTERM");
  await gone;
}

/** Waits until a command succeeds. Rejects, with what it last said, if it does not in time. */
export async function untilSucceeds(name: string, args: string[], env = {}): Promise<void> {
  for (const late = performance.now() + READY_WITHIN_MS; ; await sleep(BETWEEN_LOOKS_MS)) {
    try {
      execFileSync(name, args, { stdio: "pipe", env: { ...process.env, ...env } });
      return;
    } catch (error) {
      if (performance.now() > late) throw new Error(`${name} ${args.join(" ")} fails.`, { cause: error });
    }
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
