import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MAX_PREFIXED_LINE_BYTES, PrefixedLines } from "../../cli/terminal/prefixed-lines.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, type Seen, statusOf } from "./support/control-plane.ts";

// The output of several runs at once: whole lines, each after the id of its run (api.md#logs).

describe("lines after a prefix", () => {
  const written = async (...chunks: string[]) => {
    const parts: Uint8Array[] = [];
    const shown = () => Buffer.concat(parts).toString("latin1");
    const lines = new PrefixedLines("> ", async (bytes) => void parts.push(bytes));
    for (const chunk of chunks) await lines.write(Buffer.from(chunk, "latin1"));
    const beforeEnd = shown();
    await lines.end();
    return [beforeEnd, shown()];
  };
  const long = "x".repeat(MAX_PREFIXED_LINE_BYTES);

  test.each<[string, string[], string, string]>([
    ["are whole", ["a\nb\n"], "> a\n> b\n", "> a\n> b\n"],
    ["wait for their end", ["a", "b", "\nc"], "> ab\n", "> ab\n> c\n"],
    ["may be empty", ["\n\na\n"], "> \n> \n> a\n", "> \n> \n> a\n"],
    ["are none, of nothing", [""], "", ""],
    ["keep bytes that are no text", ["\xff\xfe\n"], "> \xff\xfe\n", "> \xff\xfe\n"],
    ["are not cut at the bound", [`${long}\n`, "a\n"], `> ${long}\n> a\n`, `> ${long}\n> a\n`],
    ["are cut beyond it", [`${long}y\n`], `> ${long}\n> y\n`, `> ${long}\n> y\n`],
    ["do not grow in memory without an end", [long, "y"], `> ${long}\n`, `> ${long}\n> y\n`],
  ])("%s", async (_what, chunks, before, after) => {
    expect(await written(...chunks)).toEqual([before, after]);
  });
});

describe("drover logs of several runs", () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench();
    for (const id of ["a", "long-id"])
      bench.plane.runs.set(id, statusOf(id, { state: "complete", exitCode: 0 }));
    const text = (id: string, stream: string) => `${id} ${stream} 1\n2`;
    bench.plane.on("GET", /\/logs\/main\/std/, ({ path }: Seen, res) => {
      const [, , , id = "", , , stream = ""] = path.split("/");
      res.writeHead(200, { "content-type": "application/octet-stream" }).end(text(id, stream));
    });
    bench.plane.on("GET", /\/logs\/main$/, ({ path }: Seen, res) => {
      const [, , , id = ""] = path.split("/");
      const item = (stream: string) => ({
        stream,
        from: 0,
        to: text(id, stream).length,
        at: null,
        after: null,
      });
      const items = [item("stdout"), item("stderr")];
      const stored = { stdout: text(id, "stdout").length, stderr: text(id, "stderr").length };
      json(res, 200, { attempt: "1.1", ended: true, stored, next: stored, items });
    });
  });
  afterEach(() => bench.close());

  test("shows whole lines of both streams, each after its run's id", async () => {
    const { code, stdout, stderr } = await bench.run(["logs", "a", "long-id"]);
    expect(code).toBe(0);
    const sorted = (text: string) => text.trimEnd().split("\n").sort();
    const lines = (stream: string) => [
      "a       | 2",
      `a       | a ${stream} 1`,
      "long-id | 2",
      `long-id | long-id ${stream} 1`,
    ];
    expect([sorted(stdout.toString()), sorted(stderr)]).toEqual([lines("stdout"), lines("stderr")]);
  });

  test("copies bytes as they are if the same run is named twice", async () => {
    const { stdout } = await bench.run(["logs", "--stdout", "a", "a"]);
    expect(stdout.toString()).toBe("a stdout 1\n2");
  });

  test("shows the others if one is unknown or fails, and says so", async () => {
    const { code, stdout, stderr } = await bench.run(["logs", "--stdout", "a", "nobody", "long-id"]);
    expect(code).toBe(125);
    expect(stderr).toBe("drover: nobody: it is unknown_run\n");
    expect(stdout.toString()).toMatch(/a stdout 1/);
    bench.plane.on("GET", /\/long-id\/logs\//, (_, res) => problem(res, 410, "expired_logs"));
    const failed = await bench.run(["logs", "--stdout", "long-id", "a"]);
    expect([failed.code, failed.stderr]).toEqual([125, "drover: long-id: it is expired_logs\n"]);
    expect(failed.stdout.toString()).toMatch(/a stdout 1/);
  });

  test.each([50, 51])("takes 50 runs at most: %i", async (count) => {
    const ids = Array.from({ length: count }, (_, index) => `r-${index}`);
    for (const id of ids) bench.plane.runs.set(id, statusOf(id, { state: "complete", exitCode: 0 }));
    const { code, stderr } = await bench.run(["logs", "--stdout", ...ids]);
    expect([code, /51 runs are too many/.test(stderr)]).toEqual(count > 50 ? [125, true] : [0, false]);
  });
});
