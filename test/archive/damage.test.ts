import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { Pax } from "tar";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ArchiveFault } from "../../archive/faults.ts";
import { unpack } from "../../archive/unpack.ts";
import { sized } from "../chance/length.ts";
import { END, entry } from "./support/tar.ts";

// Archives of entries by chance, some of them damaged: nothing leaves the directory, whatever they have.

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-damage-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const signal = AbortSignal.timeout(200_000);
const BOUNDS = { bytes: 2 ** 20, entries: 1_000 };

/** Few names, so that entries meet: in each other's place, below each other, through each other. */
const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("a", "b", "c", "d") },
  fc.constantFrom("left", "..", ".", "A", "secret"),
);
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
interface OneEntry {
  path: string;
  type: "File" | "Directory" | "SymbolicLink" | "Link" | "FIFO" | "SparseFile";
  linkpath: string;
  content: string;
  isLong: boolean;
}

const type = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom<OneEntry["type"]>("File", "Directory", "SymbolicLink", "Link") },
  fc.constantFrom<OneEntry["type"]>("FIFO", "SparseFile"),
);
const one = fc.record<OneEntry>({
  path,
  type,
  linkpath: path,
  content: fc.string({ maxLength: 20 }),
  isLong: fc.boolean(),
});

function blockOf({ path, type, linkpath, content, isLong }: OneEntry): Buffer {
  const isLink = type === "SymbolicLink" || type === "Link";
  const target = isLink ? { linkpath } : {};
  const block = entry({ path, type, ...target, ...(type === "File" ? { content } : {}) });
  return isLong ? Buffer.concat([new Pax({ path, ...target }).encode(), block]) : block;
}

const damage = fc.oneof(
  fc.constant([]),
  fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }),
);

test("whatever an archive has, and whatever bytes of it are others, it stays in its directory", async () => {
  let unpacked = 0;
  const property = fc.asyncProperty(
    fc.array(one, { minLength: 1, maxLength: 6 }),
    damage,
    async (entries, changes) => {
      const into = join(dir, "into");
      rmSync(dir, { recursive: true, force: true });
      mkdirSync(into, { recursive: true });
      writeFileSync(join(dir, "secret"), "mine");
      symlinkSync("..", join(into, "left"));
      const archive = Buffer.concat([...entries.map(blockOf), END]);
      for (const [at, byte] of changes) archive[at % archive.length] = byte;
      writeFileSync(join(dir, "archive"), archive);
      const error: unknown = await unpack(join(dir, "archive"), into, signal, BOUNDS).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (error === undefined) unpacked += 1;
      else expect(error).toBeInstanceOf(ArchiveFault);
      expect(readdirSync(dir).sort()).toEqual(["archive", "into", "secret"]);
      expect([readFileSync(join(dir, "secret"), "utf8"), statSync(join(dir, "secret")).nlink]).toEqual([
        "mine",
        1,
      ]);
      expect(lstatSync(into).isDirectory()).toBe(true);
    },
  );
  await fc.assert(property, { numRuns: sized(1_500, 5_000) });
  expect(unpacked).toBeGreaterThan(100);
});
