import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { auditFileName, chained } from "../../src/core/audit/chain.ts";
import type { AuditEntry } from "../../src/schema/access/audit.ts";
import { hexDigest } from "../../src/signing/mac.ts";
import { type Bench, openBench } from "./support/command.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const DAYS = ["2026-11-24", "2026-11-25", "2026-11-26", "2026-11-27"];
/** How many entries each day has. */
const ENTRIES = 4;

function entry(day: string, n: number): AuditEntry {
  const at = `${day}T${String(n).padStart(2, "0")}:00:00.000Z`;
  const target = { kind: "run", id: `build-${n}` } as const;
  const done = { id: `${day}/${n}`, at, recordedAt: at, action: "run.abort", target } as const;
  const more = { pool: "default", run: target.id, project: "default" } as const;
  const rest = { result: "ok", reason: "ü", diff: null, via: null } as const;
  return { ...done, actor: { kind: "token", name: "ci" }, ...more, ...rest };
}

/** Writes the files of all days as the export does. */
function writeDays(owner: string, { perFile = ENTRIES, perDay = ENTRIES } = {}): void {
  let before = "";
  for (const day of DAYS) {
    const entries = Array.from({ length: perDay }, (_, n) => entry(day, n));
    for (let part = 0; part * perFile < perDay; part += 1) {
      const some = entries.slice(part * perFile, (part + 1) * perFile);
      const { text, digest } = chained(some, before, hexDigest);
      write(auditFileName(day, owner, part), text);
      before = digest;
    }
  }
}

const pathOf = (file: string) => join(bench.dir, file);
const text = (file: string) => readFileSync(pathOf(file), "utf8");
const write = (file: string, content: string) => {
  mkdirSync(dirname(pathOf(file)), { recursive: true });
  writeFileSync(pathOf(file), content);
};
const fileOf = (day: number, owner = "registry") => `audit/${DAYS[day]}/${owner}.ndjson`;
/** Changes the lines of a file. */
const edit = (file: string, change: (lines: string[]) => string[]) =>
  write(file, change(text(file).trimEnd().split("\n")).concat("").join("\n"));

const verify = async (...args: string[]) => {
  const { code, stdout, stderr } = await bench.run(["audit", "verify", ...args]);
  return { code, said: stdout.toString() + stderr };
};
const broken = async (place: string, pattern: RegExp) => {
  const { code, said } = await verify("audit");
  expect(said).toContain(`registry: broken at audit/${place}: `);
  expect(said).toMatch(pattern);
  expect(code).toBe(1);
};

beforeEach(() => rmSync(pathOf("audit"), { recursive: true, force: true }));

describe("files as they were exported (audit.md#verification)", () => {
  test("are whole, owner by owner, and the digest of the last line is shown", async () => {
    writeDays("registry");
    writeDays("pool-default");
    const { code, said } = await verify("audit");
    const digest = hexDigest(text(fileOf(3)).trimEnd().split("\n").at(-1) ?? "");
    const end = `16 lines of 2026-11-24 to 2026-11-27, from the first entry on; the last has the digest`;
    expect(said).toContain(`pool-default: whole, ${end}`);
    expect(said).toContain(`registry: whole, ${end} ${digest}\n`);
    expect(code).toBe(0);
  });

  test("follow each other by day and number, not by the letters of their names", async () => {
    writeDays("registry", { perFile: 1, perDay: 12 });
    expect(await verify("audit")).toMatchObject({ code: 0 });
  });

  test("are named one by one as well, also from the middle of the chain", async () => {
    writeDays("registry");
    const { code, said } = await verify(fileOf(2), fileOf(1), fileOf(1));
    expect(said).toContain("8 lines of 2026-11-25 to 2026-11-26, what came before 2026-11-25 is not here");
    expect(code).toBe(0);
  });

  test("give a program an object for each owner", async () => {
    writeDays("registry");
    edit(fileOf(1), ([first = "", ...rest]) => [first.replace("ci", "xx"), ...rest]);
    const { code, said } = await verify("--json", "audit");
    expect(JSON.parse(said)).toMatchObject({
      owner: "registry",
      files: 4,
      lines: 5,
      isFromStart: true,
      fault: { file: fileOf(1), line: 2 },
    });
    expect(code).toBe(1);
  });
});

describe("files that somebody has changed (audit.md#verification)", () => {
  beforeEach(() => writeDays("registry"));

  test("one changed byte is seen at the next line, also over the end of a file", async () => {
    edit(fileOf(1), (lines) => lines.map((line, n) => (n === 1 ? line.replace("ok", "oK") : line)));
    await broken(
      "2026-11-25/registry.ndjson, line 3",
      /follow line 2: line 2 was changed, a line .* removed/,
    );
    rmSync(pathOf("audit"), { recursive: true });
    writeDays("registry");
    edit(fileOf(1), (lines) => lines.map((line, n) => (n === 3 ? line.replace("ok", "oK") : line)));
    await broken(
      "2026-11-26/registry.ndjson, line 1",
      /end of audit\/2026-11-25\/registry.ndjson were changed/,
    );
  });

  test("a byte that is no text is seen, too", async () => {
    const bytes = readFileSync(pathOf(fileOf(1)));
    bytes[bytes.indexOf("ü")] = 0xff;
    writeFileSync(pathOf(fileOf(1)), bytes);
    await broken("2026-11-25/registry.ndjson, line 2", /line 1 was changed/);
  });

  test("a removed line leaves a hole", async () => {
    edit(fileOf(1), (lines) => lines.toSpliced(1, 1));
    await broken("2026-11-25/registry.ndjson, line 2", /a line between them was removed/);
  });

  test("removed lines at the end of a file leave a hole before the next file", async () => {
    edit(fileOf(1), (lines) => lines.slice(0, 2));
    await broken("2026-11-26/registry.ndjson, line 1", /lines at the end of .* were changed or removed/);
  });

  test("a removed day is named", async () => {
    rmSync(pathOf(fileOf(1)));
    await broken("2026-11-26/registry.ndjson, line 1", /the file of 2026-11-25 is missing, or lines/);
    rmSync(pathOf(fileOf(2)));
    await broken("2026-11-27/registry.ndjson, line 1", /a file of 2026-11-25 to 2026-11-26 is missing/);
  });

  test("a removed part of a day is named", async () => {
    writeDays("registry", { perFile: 1 });
    rmSync(pathOf("audit/2026-11-25/registry.2.ndjson"));
    await broken("2026-11-25/registry.3.ndjson, line 1", /part 2 of 2026-11-25 is missing/);
  });

  test("two swapped lines are in another order", async () => {
    edit(fileOf(1), ([a = "", b = "", c = "", d = ""]) => [a, c, b, d]);
    await broken("2026-11-25/registry.ndjson, line 2", /another order: this one belongs behind line 3/);
  });

  test("two swapped days are in another order", async () => {
    const [one, two] = [text(fileOf(1)), text(fileOf(2))];
    write(fileOf(1), two);
    write(fileOf(2), one);
    await broken("2026-11-25/registry.ndjson, line 1", /behind line 4 of audit\/2026-11-26\/registry.ndjson/);
  });

  test("a line that was copied or put in is seen", async () => {
    edit(fileOf(1), ([a = "", b = "", ...rest]) => [a, b, b, ...rest]);
    await broken("2026-11-25/registry.ndjson, line 3", /it is a copy of line 2/);
    edit(fileOf(1), ([a = "", b = "", _copy, ...rest]) => {
      const forged = JSON.stringify({ ...JSON.parse(b), prev: hexDigest(b), reason: "forged" });
      return [a, b, forged, ...rest];
    });
    await broken("2026-11-25/registry.ndjson, line 4", /right behind line 2: lines were put in between/);
  });

  test("a chain that begins anew in the middle is seen", async () => {
    const { text: forged } = chained([entry("2026-11-25", 1)], "", hexDigest);
    write(fileOf(1), forged);
    await broken("2026-11-25/registry.ndjson, line 1", /a chain begins here, although line 4 of audit/);
  });

  test("a line that is cut off is named, and so is one behind the last", async () => {
    const whole = text(fileOf(3));
    for (const content of [whole.slice(0, -1), whole.slice(0, -30)]) {
      write(fileOf(3), content);
      await broken("2026-11-27/registry.ndjson, line 4", /the line is cut off/);
    }
    write(fileOf(3), whole);
    appendFileSync(pathOf(fileOf(3)), "\n");
    await broken("2026-11-27/registry.ndjson, line 5", /this is not an entry of the log/);
  });

  test("what is not NDJSON, or is empty, is named", async () => {
    for (const content of ["<html>\n", "null\n", "[]\n", '{"prev":"x"}\n', '{"prev":1}\n', "\0\n"]) {
      write(fileOf(1), content);
      await broken("2026-11-25/registry.ndjson, line 1", /this is not an entry of the log/);
    }
    write(fileOf(1), "");
    await broken("2026-11-25/registry.ndjson, line 1", /the file is empty/);
  });

  test("the other owners are verified all the same", async () => {
    writeDays("pool-a");
    writeDays("pool-z");
    edit(fileOf(0, "pool-a"), (lines) => lines.toSpliced(1, 1));
    const { code, said } = await verify("audit");
    expect(said).toMatch(/^pool-a: broken .*\npool-z: whole.*\nregistry: whole/);
    expect(code).toBe(1);
  });
});

describe("what cannot be verified", () => {
  test("is said, and the exit code is 125", async () => {
    mkdirSync(pathOf("audit/2026-11-24"), { recursive: true });
    expect(await verify("audit")).toEqual({
      code: 125,
      said: expect.stringContaining("audit has no exported file of the audit log."),
    });
    writeFileSync(pathOf("notes.txt"), "");
    expect(await verify("notes.txt")).toEqual({
      code: 125,
      said: expect.stringContaining("notes.txt is no exported file of the audit log."),
    });
    const nowhere = await verify("nowhere");
    expect(nowhere).toEqual({ code: 125, said: expect.stringContaining("Cannot read nowhere: ") });
    expect(await verify()).toMatchObject({ code: 125 });
  });

  test("is the files of two Drovers at once", async () => {
    writeDays("registry");
    write("other/2026-11-24/registry.ndjson", text(fileOf(0)));
    const { code, said } = await verify("audit", "other");
    expect(said).toContain("are the same day's file");
    expect(code).toBe(125);
  });
});
