import { expect, test } from "vitest";
import { remoteIn } from "../../cli/tunnel/place.ts";

// Which path of `drover cp` is in a run (tunnels.md#copies).

test.each<[string, NodeJS.Platform, [string, string] | undefined]>([
  ["web:page.txt", "linux", ["web", "page.txt"]],
  ["web:", "linux", ["web", "."]],
  ["web:a:b", "linux", ["web", "a:b"]],
  ["-:x", "linux", ["-", "x"]],
  ["page.txt", "linux", undefined],
  ["./a:b", "linux", undefined],
  [":b", "linux", undefined],
  ["c:\\data", "linux", ["c", "\\data"]],
  ["c:\\data", "win32", undefined],
  ["C:data", "win32", undefined],
  [".\\a:b", "win32", undefined],
  ["web:/var/log", "win32", ["web", "/var/log"]],
  ["web:page.txt", "darwin", ["web", "page.txt"]],
])("%j on %s is %j (tunnels.md#copies)", (text, platform, place) => {
  const remote = place && { run: place[0], remote: place[1] };
  expect(remoteIn(text, platform)).toEqual(remote);
});
