import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lockStateDir } from "../../local/state/state-dir.ts";
import { takeLock } from "../../posix/lock.ts";
import { scratchDir } from "../local/support/scratch.ts";

/** Takes a lock that is free; returns what gives it back. */
function taken(path: string): () => void {
  const lock = takeLock(path);
  if (lock.holder !== undefined) throw new Error(`process ${lock.holder.pid} holds ${path}`);
  return lock.release;
}

/** The line of a process that began at `startTime`. */
const line = (pid: number, startTime: number) => `${pid} (node) S 1 ${"0 ".repeat(17)}${startTime} 0`;

describe("the lock of a state directory", () => {
  it("is held until it is given back, and leaves nothing else", () => {
    const dir = scratchDir();
    const giveBack = taken(join(dir, "lock"));
    expect(takeLock(join(dir, "lock"))).toMatchObject({ holder: { pid: process.pid } });
    expect(() => lockStateDir(dir)).toThrow(new RegExp(`process ${process.pid} holds .*--state`));
    expect(readdirSync(dir)).toEqual(["lock"]);
    giveBack();
    expect(readdirSync(dir)).toEqual([]);
    taken(join(dir, "lock"))();
  });

  const stale: [string, string][] = [
    ["a dead process", line(2 ** 22 + 1, 1)],
    ["a dead process whose pid another has by now", line(process.pid, 1)],
    ["nobody that can be read", "{"],
    ["nobody at all", ""],
  ];
  it.each(stale)("is taken over from %s", (_, text) => {
    const dir = scratchDir();
    writeFileSync(join(dir, "lock"), text);
    const giveBack = taken(join(dir, "lock"));
    expect(readdirSync(dir)).toEqual(["lock"]);
    expect(takeLock(join(dir, "lock")).holder?.pid).toBe(process.pid);
    giveBack();
  });

  it("is not given back when it has become somebody else's", () => {
    const dir = scratchDir();
    const giveBack = taken(join(dir, "lock"));
    writeFileSync(join(dir, "lock"), readFileSync(`/proc/${process.ppid}/stat`));
    giveBack();
    expect(readdirSync(dir)).toEqual(["lock"]);
  });
});
