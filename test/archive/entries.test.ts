import { describe, expect, test } from "vitest";
import { type ArchiveEntry, entryFault } from "../../archive/entries.ts";

const file = (path: string): ArchiveEntry => ({ path, type: "File" });
const link = (path: string, linkpath: string): ArchiveEntry => ({ path, type: "SymbolicLink", linkpath });
const name = (path: string, linkpath: string): ArchiveEntry => ({ path, type: "Link", linkpath });

describe("an entry that stays inside is unpacked", () => {
  test.each([
    ["a file", file("a")],
    ["a file below", file("a/b/c")],
    ["with a dot before it", file("./a")],
    ["that goes up and down inside", file("a/../b")],
    ["a name that begins with dots", file("..a/...")],
    ["a directory", { path: "a/", type: "Directory" }],
    ["the directory itself", { path: "./", type: "Directory" }],
    ["a link beside", link("a/b", "c")],
    ["a link to a name with dots", link("a", "..b")],
    ["a link up to the top", link("a/b/c", "../..")],
    ["a link up and down", link("a/b", "../c/d")],
    ["a second name", name("a/b", "a/c")],
  ])("%s", (_, entry) => {
    expect(entryFault(entry)).toBeUndefined();
  });
});

describe("one that may leave its directory is not", () => {
  test.each([
    ["a file above", file("../a"), "leads out"],
    ["far above", file("a/b/../../../c"), "leads out"],
    ["above and back by its name", file("../main/a"), "leads out"],
    ["an absolute file", file("/etc/passwd"), "leads out"],
    ["an absolute link", link("a", "/etc"), "may lead out"],
    ["a link above", link("a", ".."), "may lead out"],
    ["a link above from below", link("a/b/c", "../../.."), "may lead out"],
    ["a link that climbs after another one", link("g", "d/e/f/.."), "may lead out"],
    ["a second name of a file above", name("a", "../b"), "out of its directory"],
    ["a second name of an absolute file", name("a", "/etc/shadow"), "out of its directory"],
    ["a second name of nothing", { path: "a", type: "Link" }, "out of its directory"],
    ["a file as of a drive", file("C:x"), "a Windows path"],
    ["a link to a drive", link("a", "c:x"), "a Windows path"],
    ["a file that goes up by backslashes", file("a\\..\\b"), "with a backslash"],
    ["a file below too many directories", file(`${"a/".repeat(1_024)}b`), "more than 1024"],
    ["a device", { path: "a", type: "BlockDevice" }, "neither a file"],
    ["a pipe", { path: "a", type: "FIFO" }, "neither a file"],
    ["what nobody knows", { path: "a", type: "Unsupported" }, "neither a file"],
  ])("%s", (_, entry, words) => {
    expect(entryFault(entry)).toContain(words);
  });
});
