import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { prose, quoted, roff } from "../../cli/help/roff.ts";
import { type Bench, openBench } from "./support/command.ts";

// Manual pages: made of the help, readable by `man`, and listed by the package.

const ROOT = join(import.meta.dirname, "../..");
const isMissing = spawnSync("groff", ["--version"]).error !== undefined;
const NO_GROFF = "groff is not installed (Debian: groff-base), so manual pages were not formatted";
if (isMissing) console.warn(NO_GROFF);

let bench: Bench;
let pages: string[];
beforeAll(async () => {
  bench = await openBench();
  const written = await bench.run(["help", "--into", "man1"]);
  expect([written.code, written.stderr]).toEqual([0, ""]);
  pages = readdirSync(join(bench.dir, "man1")).sort();
});
afterAll(() => bench.close());

const pageOf = (name: string) => readFileSync(join(bench.dir, "man1", name), "utf8");
/** A page as a person sees it, and what the formatter complains about. */
function formatted(page: string): { text: string; complaints: string } {
  const { stdout, stderr } = spawnSync("groff", ["-man", "-Tutf8", "-ww", "-P-cbou", "-rLL=100n"], {
    ...{ input: page, encoding: "utf8" },
  });
  return { text: stdout, complaints: stderr };
}

test("there is a page for each verb, and the package lists them all (cli.md#man)", () => {
  const { man } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  expect(man).toEqual(pages.map((name) => `./dist/man/${name}`));
  expect(pages).toEqual(expect.arrayContaining(["drover.1", "drover-run.1", "drover-context.1"]));
  expect(pages).not.toContain("drover-complete.1");
});

test("`--man` prints the page that `--into` writes, also of a verb below a verb (cli.md#man)", async () => {
  expect((await bench.run(["help", "--man", "run"])).stdout.toString()).toBe(pageOf("drover-run.1"));
  expect((await bench.run(["help", "--man"])).stdout.toString()).toBe(pageOf("drover.1"));
  const below = (await bench.run(["help", "--man", "pools", "delete"])).stdout.toString();
  expect(below).toContain('.TH "DROVER\\-POOLS\\-DELETE" 1');
});

test.skipIf(isMissing)("no formatter complains about any page, and none lacks a part (cli.md#man)", () => {
  for (const name of pages) {
    const { text, complaints } = formatted(pageOf(name));
    expect([name, complaints]).toEqual([name, ""]);
    for (const part of ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"]) expect(text).toContain(`\n${part}\n`);
  }
});

test.skipIf(isMissing)(
  "a page shows the help as it is typed: dashes, quotes, backslashes (cli.md#man)",
  () => {
    const { text } = formatted(pageOf("drover-run.1"));
    expect(text).toContain("drover-run - run a command and show its output");
    expect(text).toContain("--kill-timeout <duration>");
    expect(text).toContain("131 for Ctrl-\\\n");
    expect(text).toContain(
      `  drover run --secret key=deploy-key -- sh -c 'ssh -i "$DROVER_SECRETS_DIR/key" host true'`,
    );
    expect(formatted(pageOf("drover-context.1")).text).toMatch(
      /CONTEXT SET\n.*\n.*\n.*\n(.*\n)* +--clear <what>/,
    );
  },
);

test.skipIf(isMissing)("man shows a page, and knows it by its description (cli.md#man)", () => {
  const shown = spawnSync("man", ["-l", join(bench.dir, "man1/drover-login.1")], {
    ...{ encoding: "utf8", env: { PATH: process.env.PATH, MANPAGER: "cat", LANG: "C.UTF-8" } },
  });
  if (shown.error !== undefined) return console.warn("man is not installed (Debian: man-db)");
  expect(shown.status).toBe(0);
  expect(shown.stdout).toContain("use a Drover elsewhere from now on");
});

test.skipIf(isMissing)("any text is shown as it is, and is never a request (cli.md#man)", () => {
  const printable = fc.stringMatching(/^[!-~]{1,60}$/);
  fc.assert(
    fc.property(fc.array(printable, { minLength: 1, maxLength: 5 }), (lines) => {
      const { text, complaints } = formatted(
        `.TH X 1\n.SH ${quoted("A 'b'")}\n.nf\n${roff(lines.join("\n"))}\n`,
      );
      expect(complaints).toBe("");
      for (const line of lines) expect(text.split("\n").map((one) => one.trim())).toContain(line);
    }),
    { numRuns: 20 },
  );
});

test("the text after a help becomes notes and examples (cli.md#man)", () => {
  const text = "\nOne,\ntwo:\n  kept  as is\nthree.\n\nFour.\n\nExamples:\n  drover ps";
  expect(prose(text, "SH")).toBe(
    ".SH NOTES\nOne,\ntwo:\n.PP\n.nf\n  kept  as is\n.fi\n.PP\nthree.\n.PP\nFour.\n" +
      ".SH EXAMPLES\n.nf\n  drover ps\n.fi\n",
  );
  expect(prose("", "SH")).toBe("");
});

test("a folder that cannot be written to is named (cli.md#man)", async () => {
  const ended = await bench.run(["help", "--into", "man1/drover.1/x"]);
  expect(ended.code).toBe(125);
  expect(ended.stderr).toContain("Cannot write the manual pages to");
});
