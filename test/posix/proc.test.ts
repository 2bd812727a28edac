import { describe, expect, it } from "vitest";
import { lives, parseStat, readProc } from "../../posix/proc.ts";

/** A line of `/proc/<pid>/stat` up to the start time. */
const line = (name: string, state: string, threads: number) =>
  `17 (${name}) ${state} 3 17 16 0 -1 4194304 1 0 0 0 5 6 0 0 20 0 ${threads} 0 1234 0 0`;

describe("what the kernel says of a process (tools.md#processes-and-cgroups)", () => {
  it("is read whatever the program is called", () => {
    const proc = { pid: 17, ppid: 3, session: 16, startTime: 1234, ended: false };
    for (const name of ["node", "a b", "a) Z 1 (b", ""]) expect(parseStat(line(name, "S", 1))).toEqual(proc);
  });

  const states: [string, string, number, boolean][] = [
    ["runs", "R", 1, false],
    ["is stopped", "T", 1, false],
    ["waits to be collected", "Z", 1, true],
    ["is about to be gone", "X", 0, true],
    // The kernel shows the first thread. The others hold locks, ports and memory until they end.
    ["has lost its first thread of three", "Z", 3, false],
  ];
  it.each(states)("one that %s", (_, state, threads, ended) => {
    expect(parseStat(line("node", state, threads))?.ended).toBe(ended);
  });

  it.each(["", "{", "x", "17 (node) S 1"])("nothing is read of %j", (text) => {
    expect(parseStat(text)).toBeUndefined();
  });

  it("names a process for good by its pid and its start", () => {
    const self = readProc(process.pid);
    expect(self).toMatchObject({ pid: process.pid, ppid: process.ppid, ended: false });
    expect(lives({ pid: process.pid, startTime: self?.startTime ?? 0 })).toBe(true);
    expect(lives({ pid: process.pid, startTime: 1 })).toBe(false);
  });
});
