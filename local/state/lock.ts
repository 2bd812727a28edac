import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { isAlive, readProcess } from "../runtime/processes.ts";
import { UpError } from "../up-error.ts";
import { errnoOf } from "./files.ts";

const Holder = z.object({ pid: z.int(), startTicks: z.number() });
type Holder = z.infer<typeof Holder>;

/** How often a lock that goes away under our hands is tried again before giving up. */
const TRIES = 10;

/**
 * Takes the lock of a state directory for this process; returns what gives it back.
 *
 * Two runtimes on one state directory are two live copies of every object (platform.md#local-crashes). The
 * lock is a file that names its holder by pid and start time: one whose holder is dead is taken over. That
 * two others take over at the same moment is met by looking at what was moved away, and past that by the
 * port, which only one of them can have. Throws an `UpError` that says who holds it.
 */
export function takeLock(path: string): () => void {
  const self = readProcess(process.pid);
  if (self === undefined) throw new UpError("Drover's local cloud needs Linux: there is no /proc here.");
  const claim = `${path}.${randomBytes(4).toString("hex")}`;
  const text = JSON.stringify({ pid: self.pid, startTicks: self.startTicks });
  writeFileSync(claim, text, { mode: 0o600 });
  try {
    for (let n = 0; n < TRIES; n += 1) {
      if (tryLink(claim, path)) return () => giveBack(path, text);
      const holder = readHolder(path);
      if (holder !== undefined && isAlive(holder)) throw heldBy(path, holder);
      moveAway(path, `${claim}.stale`);
    }
  } finally {
    rmSync(claim, { force: true });
  }
  throw new UpError(`The lock ${path} keeps changing hands. Is another \`drover up\` being started here?`);
}

function heldBy(path: string, holder: Holder): UpError {
  return new UpError(
    `Drover is already up here: process ${holder.pid} holds ${path}. Use that one, stop it with Ctrl-C or ` +
      `\`kill ${holder.pid}\`, or name another state directory with --state.`,
  );
}

/** `link` makes the lock with its content in one step, and fails if there is one. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Undefined if there is no lock any more, or its text names nobody. */
function readHolder(path: string): Holder | undefined {
  try {
    return Holder.safeParse(JSON.parse(readFileSync(path, "utf8"))).data;
  } catch {
    return undefined;
  }
}

/**
 * Removes a lock whose holder is dead. If somebody else was faster and it is theirs by now, they get it back.
 */
function moveAway(path: string, aside: string): void {
  try {
    renameSync(path, aside);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return;
    throw error;
  }
  const moved = readHolder(aside);
  if (moved !== undefined && isAlive(moved)) tryLink(aside, path);
  rmSync(aside, { force: true });
}

/** Only if it is still ours: after a mistaken takeover it would be somebody else's. */
function giveBack(path: string, text: string): void {
  try {
    if (readFileSync(path, "utf8") === text) rmSync(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}
