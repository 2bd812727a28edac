import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readProcess } from "../../local/runtime/processes.ts";
import { takeLock } from "../../local/state/lock.ts";
import { UpError } from "../../local/up-error.ts";
import { scratchDir } from "./support/scratch.ts";

const self = readProcess(process.pid);

describe("the lock of a state directory", () => {
  it("is held until it is given back, and leaves nothing else", () => {
    const dir = scratchDir();
    const giveBack = takeLock(join(dir, "lock"));
    expect(() => takeLock(join(dir, "lock"))).toThrow(new RegExp(`process ${process.pid} holds .*--state`));
    expect(readdirSync(dir)).toEqual(["lock"]);
    giveBack();
    expect(readdirSync(dir)).toEqual([]);
    takeLock(join(dir, "lock"))();
  });

  const stale: [string, string][] = [
    ["a dead process", JSON.stringify({ pid: 2 ** 22 + 1, startTicks: 1 })],
    ["a dead process whose pid another has by now", JSON.stringify({ pid: process.pid, startTicks: 1 })],
    ["nobody that can be read", "{"],
    ["nobody at all", ""],
  ];
  it.each(stale)("is taken over from %s", (_, text) => {
    const dir = scratchDir();
    writeFileSync(join(dir, "lock"), text);
    const giveBack = takeLock(join(dir, "lock"));
    expect(readdirSync(dir)).toEqual(["lock"]);
    expect(() => takeLock(join(dir, "lock"))).toThrow(UpError);
    giveBack();
  });

  it("is not given back when it has become somebody else's", () => {
    const dir = scratchDir();
    const giveBack = takeLock(join(dir, "lock"));
    writeFileSync(join(dir, "lock"), JSON.stringify({ pid: process.ppid, startTicks: self?.startTicks }));
    giveBack();
    expect(readdirSync(dir)).toEqual(["lock"]);
  });
});
