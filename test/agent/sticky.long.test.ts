import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AttemptOrder } from "../../src/schema/host.ts";
import { type Bench, kill, openBench, run } from "./support/bench.ts";

// The data of sticky runs, with real processes and files (decisions/runs.md#sticky-data,
// tasks.md#sticky-data).

const FIRST = "build-17/main/1.1";
const SECOND = "build-17/main/2.1";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

/** Leaves something in each directory that a task has. */
const LEAVE = [
  'echo of-all >"$DROVER_ALLOC_DIR/data/f"; echo own >f; mkdir d; echo deep >d/f',
  'for d in "$DROVER_SECRETS_DIR" "$TMPDIR" "$DROVER_ALLOC_DIR/tmp" "$DROVER_ALLOC_DIR/logs"',
  "do echo other >$d/f; done",
].join("; ");
/** Prints what is there. */
const FIND = [
  'for f in "$DROVER_ALLOC_DIR"/*/f f d/f "$DROVER_SECRETS_DIR/f" "$TMPDIR/f"',
  'do [ ! -e "$f" ] || cat "$f"; done',
].join("; ");
const LEFT = "of-all\nown\ndeep\n";

function sticky(id: string, script: string, from: number | null = null): AttemptOrder {
  return {
    ...run(id, ["sh", "-c", script], { name: id.split("/")[1] ?? "" }),
    sticky: { from },
  } as AttemptOrder;
}

/** Runs one attempt alone, to its end. */
async function runToEnd(id: string, script: string, from: number | null = null) {
  bench.plane.order([sticky(id, script, from)]);
  const { data } = await bench.plane.untilStored(id);
  return { data, stdout: bench.plane.stored(id).toString() };
}

const retainedNow = () => bench.plane.reports.at(-1)?.kept ?? [];
const untilKept = (...placements: string[]) =>
  bench.plane.until(`${placements} are kept`, () => {
    return JSON.stringify(retainedNow()) === JSON.stringify(placements) && bench.plane.reports.at(-1);
  });

/** The placement is over, as far as anybody has ordered. */
async function isOver(placement: string) {
  bench.plane.order([]);
  await untilKept(placement);
}

const at = (...path: string[]) => join(bench.stateDir, ...path);
const onDisk = () => ({ allocs: readdirSync(at("allocs")), kept: readdirSync(at("kept")) });

describe("a run that is placed anew on the same host", () => {
  test("finds what was left in `data` and in each task's own directory, and nothing else", async () => {
    bench.start();
    expect(await runToEnd(FIRST, LEAVE)).toEqual({ data: undefined, stdout: "" });
    await isOver("build-17/1");
    expect(onDisk()).toEqual({ allocs: [], kept: ["build-17_1"] });
    expect(readdirSync(at("kept", "build-17_1", "main")).sort()).toEqual(["local", "private"]);
    expect(await runToEnd(SECOND, FIND, 1)).toEqual({ data: "moved", stdout: LEFT });
    expect(onDisk()).toEqual({ allocs: ["build-17_2"], kept: [] });
  });

  test("finds it also when the orders for both come at once", async () => {
    bench.start();
    await runToEnd(FIRST, LEAVE);
    expect(await runToEnd(SECOND, FIND, 1)).toEqual({ data: "moved", stdout: LEFT });
    await untilKept();
    expect(onDisk()).toEqual({ allocs: ["build-17_2"], kept: [] });
  });

  test("and again, and what it adds", async () => {
    bench.start();
    await runToEnd(FIRST, LEAVE);
    await isOver("build-17/1");
    await runToEnd(SECOND, "echo more >>f", 1);
    await isOver("build-17/2");
    expect((await runToEnd("build-17/main/3.1", FIND, 2)).stdout).toBe("of-all\nown\nmore\ndeep\n");
  });

  test("begins with nothing when its order names none, or others than are here", async () => {
    bench.start();
    await runToEnd(FIRST, LEAVE);
    await isOver("build-17/1");
    expect(await runToEnd("build-17/main/3.1", FIND, 2)).toEqual({ data: "empty", stdout: "" });
    expect(await runToEnd("build-17/main/4.1", FIND)).toEqual({ data: undefined, stdout: "" });
  });

  test("no other run ever sees them", async () => {
    bench.start();
    await runToEnd(FIRST, LEAVE);
    await isOver("build-17/1");
    expect(await runToEnd("build-1/main/2.1", FIND, 1)).toEqual({ data: "empty", stdout: "" });
    expect(retainedNow()).toEqual(["build-17/1"]);
  });

  test("a link that a task leaves in the place of a directory leads nowhere", async () => {
    mkdirSync(join(bench.dir, "others"));
    writeFileSync(join(bench.dir, "others", "f"), "");
    bench.start();
    await runToEnd(
      FIRST,
      `rm -r "$DROVER_ALLOC_DIR"; ln -s ${join(bench.dir, "others")} "$DROVER_ALLOC_DIR"`,
    );
    await isOver("build-17/1");
    expect(existsSync(join(bench.dir, "others", "f"))).toBe(true);
    expect((await runToEnd(SECOND, FIND, 1)).stdout).toBe("");
  });
});

describe("N9: a run that is placed again on another host", () => {
  const save = (id: string, script: string) => ({ ...sticky(id, script), save: true as const });

  /** Has the data of the first placement stored, as all of it has ended. */
  async function storedData(script: string) {
    await runToEnd(FIRST, script);
    bench.plane.order([save(FIRST, script)]);
    const told = await bench.plane.until("its data are stored, or cannot be", () => {
      return bench.plane.reports.flatMap(({ attempts }) => attempts.flatMap(({ saved }) => saved ?? []))[0];
    });
    return told;
  }

  async function runFrom(snapshot: string, script: string) {
    // Of another epoch than is kept here: so it is as on a host that has never had the run.
    const order = { ...sticky(SECOND, script, null), sticky: { from: null, snapshot } };
    bench.plane.order([order as AttemptOrder]);
    const { data } = await bench.plane.untilStored(SECOND);
    return { data, stdout: bench.plane.stored(SECOND).toString() };
  }

  test("finds what was left in `data` and in each task's own directory, and nothing else", async () => {
    bench.start();
    const told = await storedData(LEAVE);
    if (told === undefined || "error" in told) throw new Error(JSON.stringify(told));
    expect(told.files).toBe(3);
    await isOver("build-17/1");
    expect(await runFrom(told.snapshot, FIND)).toEqual({ data: "fetched", stdout: LEFT });
    // What its first host keeps is not touched by that.
    expect(onDisk()).toEqual({ allocs: ["build-17_2"], kept: ["build-17_1"] });
  });

  test("begins with nothing when the snapshot cannot be had", async () => {
    bench.start();
    expect(await runFrom(`sha256:${"0".repeat(64)}`, FIND)).toEqual({ data: "empty", stdout: "" });
  });

  test("data that cannot be packed are an answer, too", async () => {
    bench.start();
    const told = await storedData("ln -s /etc/passwd out");
    expect(told).toMatchObject({ error: expect.stringContaining("cannot be packed") });
  });

  test.runIf(process.getuid?.() === 0)("its data belong to the user of its task there", async () => {
    chmodSync(bench.dir, 0o711);
    bench.start();
    const told = await storedData(LEAVE);
    if (told === undefined || "error" in told) throw new Error(JSON.stringify(told));
    await isOver("build-17/1");
    const script =
      'echo more >>"$DROVER_ALLOC_DIR/data/f"; echo more >>d/f; cat "$DROVER_ALLOC_DIR/data/f" d/f';
    const order = { ...run(SECOND, ["sh", "-c", script], { name: "main", user: "nobody" }) };
    bench.plane.order([{ ...order, sticky: { from: null, snapshot: told.snapshot } } as AttemptOrder]);
    await bench.plane.untilStored(SECOND);
    expect(bench.plane.stored(SECOND).toString()).toBe("of-all\nmore\ndeep\nmore\n");
  });
});

describe("what is kept goes", () => {
  test("when the orders say that nobody needs it, and not before (rule R5)", async () => {
    bench.start();
    await runToEnd(FIRST, LEAVE);
    await isOver("build-17/1");
    bench.plane.order([], { drop: ["other/1"] });
    await bench.plane.until(
      "it has seen that",
      () => bench.plane.reports.at(-1)?.ordersSeen === bench.plane.revision,
    );
    expect(onDisk().kept).toEqual(["build-17_1"]);
    bench.plane.order([], { drop: ["build-17/1"] });
    await expect.poll(onDisk).toEqual({ allocs: [], kept: [] });
  });

  test("never with a run that is not sticky: of that nothing is kept", async () => {
    bench.start();
    bench.plane.order([run(FIRST, ["true"])]);
    await bench.plane.untilStored(FIRST);
    bench.plane.order([]);
    await expect.poll(onDisk).toEqual({ allocs: [], kept: [] });
  });
});

// What SIGKILL leaves when it comes between two steps of a move, whichever they are.
describe("an agent that is killed on the way", () => {
  const note = (folder: string, text: string) => writeFileSync(at(folder, ".sticky"), text);
  const first = join("allocs", "build-17_1");
  const kept = join("kept", "build-17_1");
  const move = (from: string, to: string) => renameSync(at(from), at(to));

  test.each<[string, () => void]>([
    ["before anything was done", () => {}],
    [
      "while the placement is stripped",
      () => {
        rmSync(at(first, "alloc", "tmp"), { recursive: true });
        rmSync(at(first, "main", "secrets"), { recursive: true });
      },
    ],
    ["when it is stripped, and not yet kept", () => note(first, "kept")],
    [
      "when it is kept, and that was not noticed",
      () => {
        for (const name of ["tmp", "logs"]) rmSync(at(first, "alloc", name), { recursive: true });
        for (const name of ["tmp", "secrets"]) rmSync(at(first, "main", name), { recursive: true });
        note(first, "kept");
        move(first, kept);
      },
    ],
  ])("%s: the next placement finds its data, once", async (_what, happened) => {
    const agent = bench.start();
    await runToEnd(FIRST, LEAVE);
    await kill(agent);
    happened();
    bench.start();
    expect(await runToEnd(SECOND, FIND, 1)).toEqual({ data: "moved", stdout: LEFT });
    await untilKept();
    expect(onDisk()).toEqual({ allocs: ["build-17_2"], kept: [] });
  });

  test.each<[string, () => void]>([
    ["when they are about to be moved", () => note(kept, "moved")],
    [
      "when they have been moved, and that was not noticed",
      () => {
        note(kept, "moved");
        move(kept, join("allocs", "build-17_2"));
      },
    ],
    ["when they have been moved beside an empty directory", () => mkdirSync(at("allocs", "build-17_2"))],
  ])("%s: they are moved, once, and that is told", async (_what, happened) => {
    const agent = bench.start();
    await runToEnd(FIRST, LEAVE);
    await isOver("build-17/1");
    await kill(agent);
    happened();
    bench.plane.order([sticky(SECOND, FIND, 1)]);
    bench.start();
    const { data } = await bench.plane.untilStored(SECOND);
    expect([data, bench.plane.stored(SECOND).toString()]).toEqual(["moved", LEFT]);
    expect(onDisk()).toEqual({ allocs: ["build-17_2"], kept: [] });
  });

  test("while what was moved is in use: its next start takes nothing away, and says the same", async () => {
    const agent = bench.start();
    await runToEnd(FIRST, LEAVE);
    await isOver("build-17/1");
    bench.plane.order([
      sticky(SECOND, `${FIND}; while ! [ -e ${join(bench.dir, "go")} ]; do sleep 0.02; done; ${FIND}`, 1),
    ]);
    await bench.plane.until("it has found it", () => bench.plane.stored(SECOND).includes("deep"));
    await kill(agent);
    bench.start();
    await bench.plane.until("it joins", () => bench.plane.incarnation === 2);
    writeFileSync(join(bench.dir, "go"), "");
    const { data } = await bench.plane.untilStored(SECOND);
    expect([data, bench.plane.stored(SECOND).toString()]).toEqual(["moved", LEFT + LEFT]);
  });

  test("what it keeps is kept, and said, by its next start", async () => {
    const agent = bench.start();
    await runToEnd(FIRST, LEAVE);
    await isOver("build-17/1");
    await kill(agent);
    bench.start();
    await bench.plane.until("it joins", () => bench.plane.reports.at(-1)?.incarnation === 2);
    await untilKept("build-17/1");
    expect(readFileSync(at(kept, "main", "local", "d", "f"), "utf8")).toBe("deep\n");
  });
});
