import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AttemptSecrets, hostKeyIn } from "../../agent/secrets.ts";
import { removeMemoryDir } from "../../posix/memory-dir.ts";
import type { AttemptOrder } from "../../src/schema/host.ts";
import type { TaskSpec } from "../../src/schema/run/run.ts";
import { MAX_RUN_SECRET_BYTES } from "../../src/shared/limits.ts";
import { contextOfHanded } from "../../src/signing/contexts.ts";
import { seal } from "../../src/signing/seal.ts";
import { type Bench, openBench, run } from "./support/bench.ts";

// Tasks of one run share a directory: what one of them has as a secret, another one may print.

const SETUP = "build-17/setup/1.1";
const MAIN = "build-17/main/1.1";
const OTHER = "build-18/main/1.1";
const VALUE = "correct-horse-battery-staple";
const STARS = "*".repeat(VALUE.length);
const USES: NonNullable<TaskSpec["secrets"]> = { WORD: { secret: "deploy", as: "env" } };

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
  bench.plane.secrets[SETUP] = { WORD: Buffer.from(VALUE) };
});
afterEach(async () => {
  const { faults } = bench.plane;
  removeMemoryDir(join(bench.stateDir, "secrets"));
  await bench.close();
  expect(faults).toEqual([]);
});

const fileOf = (name: string) => join(bench.dir, name);
const stored = (id: string) => bench.plane.stored(id).toString();
const sealedFiles = () => readdirSync(join(bench.stateDir, "sealed"));
/** What a task does once the test says so. */
const then = (script: string) => `while ! [ -e ${fileOf("go")} ]; do sleep 0.02; done; ${script}`;
const go = () => writeFileSync(fileOf("go"), "");

/** Gives its secret to all tasks of its run, and ends. */
const setup = run(SETUP, ["sh", "-c", 'echo "$WORD" >"$DROVER_ALLOC_DIR/data/word"'], { secrets: USES });
/** Has no secret, and prints what it was given. */
const main = () => run(MAIN, ["sh", "-c", `echo waits; ${then('cat "$DROVER_ALLOC_DIR/data/word"')}`]);

describe("an attempt is masked with the values of all attempts of its run (redaction.md#secrets)", () => {
  test("what a task of the run has written for the others; another run is sent as it is", async () => {
    bench.start();
    bench.plane.order([setup, main(), run(OTHER, ["echo", VALUE])]);
    await bench.plane.untilState(SETUP, "exited");
    go();
    await bench.plane.untilStored(MAIN);
    await bench.plane.untilStored(OTHER);
    expect(stored(MAIN)).toBe(`waits\n${STARS}\n`);
    expect(stored(OTHER)).toBe(`${VALUE}\n`);
  });

  test("also if it is forgotten meanwhile, and the agent was killed since", async () => {
    const first = bench.start();
    bench.plane.order([setup]);
    await bench.plane.untilState(SETUP, "exited");
    bench.plane.order([main()]);
    await bench.plane.until("it waits", () => stored(MAIN) === "waits\n");
    await bench.plane.until("the other is forgotten", () => bench.plane.attempt(SETUP) === undefined);
    first.child.kill("SIGKILL");
    await first.ended;
    bench.start();
    go();
    await bench.plane.untilStored(MAIN);
    expect(stored(MAIN)).toBe(`waits\n${STARS}\n`);
    expect(sealedFiles()).toHaveLength(1);
    bench.plane.order([]);
    await bench.plane.until("the values go with the last attempt", () => sealedFiles().length === 0);
  });

  test("also before it starts: it may be ordered when the agent is started again", async () => {
    const first = bench.start();
    bench.plane.order([setup]);
    await bench.plane.untilState(SETUP, "exited");
    first.child.kill("SIGKILL");
    await first.ended;
    // Its folder is deleted, as if the agent had died right after that.
    rmSync(join(bench.stateDir, "attempts", SETUP.replaceAll("/", "_")), { recursive: true });
    rmSync(join(bench.stateDir, "journal", `${SETUP.replaceAll("/", "_")}.json`));
    go();
    bench.plane.order([main()]);
    bench.start();
    await bench.plane.untilStored(MAIN);
    expect(stored(MAIN)).toBe(`waits\n${STARS}\n`);
  });

  test("if the values of one are lost, what the others print is masked whole", async () => {
    const first = bench.start();
    bench.plane.order([setup, main(), run(OTHER, ["sh", "-c", then("echo plain")])]);
    await bench.plane.until("it waits", () => stored(MAIN) === "waits\n");
    await bench.plane.untilState(SETUP, "exited");
    first.child.kill("SIGKILL");
    await first.ended;
    for (const name of sealedFiles()) rmSync(join(bench.stateDir, "sealed", name));
    bench.start();
    go();
    await bench.plane.untilStored(MAIN);
    await bench.plane.untilStored(OTHER);
    expect(stored(MAIN)).toBe(`waits\n${"*".repeat(VALUE.length + 1)}`);
    expect(stored(OTHER)).toBe("plain\n");
  });

  test("also what a sticky run finds of an earlier placement, and after a restart", async () => {
    const sticky = (id: string, script: string, from: number | null, more: Partial<TaskSpec> = {}) => {
      return { ...run(id, ["sh", "-c", script], more), sticky: { from } } as AttemptOrder;
    };
    const print = 'cat "$DROVER_ALLOC_DIR/data/word"';
    const untilKept = (...placements: string[]) =>
      bench.plane.until(`${placements} are kept`, () => {
        return JSON.stringify(bench.plane.reports.at(-1)?.kept ?? []) === JSON.stringify(placements);
      });
    const first = bench.start();
    const write = 'echo "$WORD" >"$DROVER_ALLOC_DIR/data/word"';
    bench.plane.order([sticky(SETUP, write, null, { secrets: USES })]);
    await bench.plane.untilState(SETUP, "exited");
    bench.plane.order([]);
    await untilKept("build-17/1");
    expect(sealedFiles()).toHaveLength(1);
    bench.plane.order([sticky("build-17/main/2.1", print, 1)]);
    await bench.plane.untilStored("build-17/main/2.1");
    bench.plane.order([]);
    await untilKept("build-17/2");
    first.child.kill("SIGKILL");
    await first.ended;
    bench.start();
    bench.plane.order([sticky("build-17/main/3.1", print, 2)]);
    await bench.plane.untilStored("build-17/main/3.1");
    expect([2, 3].map((epoch) => stored(`build-17/main/${epoch}.1`))).toEqual([`${STARS}\n`, `${STARS}\n`]);
    bench.plane.order([]);
    await untilKept("build-17/3");
    bench.plane.order([], { drop: ["build-17/3"] });
    await bench.plane.until("the values go with the data", () => sealedFiles().length === 0);
  });

  test("the same values again take no more room: one file for all attempts that are over", async () => {
    const again = (n: number) => `build-17/setup/1.${n}`;
    bench.start();
    for (const n of [1, 2, 3]) {
      bench.plane.secrets[again(n)] = { WORD: Buffer.from(VALUE) };
      bench.plane.order([run(again(n), ["sh", "-c", "echo $WORD"], { secrets: USES })]);
      await bench.plane.untilStored(again(n));
    }
    await bench.plane.until("the others are forgotten", () => sealedFiles().length === 1);
    expect([1, 2, 3].map((n) => stored(again(n)))).toEqual(Array(3).fill(`${STARS}\n`));
    expect(existsSync(join(bench.stateDir, "sealed", "build-17_setup_1.3.json"))).toBe(true);
  });
});

describe("the values of a run have a bound on a host (secrets.md#limits)", () => {
  const use: NonNullable<TaskSpec["secrets"]> = { WORD: { secret: "deploy", as: "file" } };
  const idOf = (n: number) => `build-17/t${n}/1.1`;
  /** A value with a fourth of the bytes that a run can have. */
  const fourthOf = (n: number) => Buffer.alloc(MAX_RUN_SECRET_BYTES / 4, `${n}`);
  const holding = (n: number) => run(idOf(n), ["sh", "-c", then("true")], { secrets: use });
  beforeEach(() => {
    for (let n = 0; n < 5; n += 1) bench.plane.secrets[idOf(n)] = { WORD: fourthOf(n) };
  });

  test("a task that brings more does not start, but may later, and the others go on", async () => {
    bench.start();
    const four = [0, 1, 2, 3].map(holding);
    bench.plane.order(four);
    for (let n = 0; n < 4; n += 1) await bench.plane.untilState(idOf(n), "running");
    bench.plane.order([...four, holding(4)]);
    const { startError } = await bench.plane.untilState(idOf(4), "exited");
    expect(startError).toMatchObject({
      code: "secrets_failed",
      recoverable: true,
      text: expect.stringContaining("have 320KiB together on this host, and the limit is 256KiB"),
    });
    go();
    for (let n = 0; n < 4; n += 1) await bench.plane.untilState(idOf(n), "exited");
    bench.plane.order([]);
    for (let n = 0; n < 5; n += 1) {
      await bench.plane.until("it is forgotten", () => bench.plane.attempt(idOf(n)) === undefined);
    }
    // Its values give way as soon as a task is deleted, which the host does after it has said that it will.
    for (let again = 2; ; again += 1) {
      const id = `build-17/t4/1.${again}`;
      bench.plane.secrets[id] = { WORD: fourthOf(4) };
      bench.plane.order([run(id, ["true"], { secrets: use })]);
      const failure = (await bench.plane.untilState(id, "exited")).startError;
      if (failure === undefined) break;
      expect(failure).toMatchObject({ code: "secrets_failed", recoverable: true });
    }
  });

  test("what is known of forgotten tasks gives way", async () => {
    bench.start();
    const stays = run(MAIN, ["sh", "-c", then("true")]);
    for (let n = 0; n < 5; n += 1) {
      bench.plane.order([stays, run(idOf(n), ["true"], { secrets: use })]);
      const { startError } = await bench.plane.untilState(idOf(n), "exited");
      expect(startError).toBeUndefined();
      bench.plane.order([stays]);
      await bench.plane.until("it is forgotten", () => bench.plane.attempt(idOf(n)) === undefined);
    }
    expect(sealedFiles()).toHaveLength(4);
    go();
  });

  test.each([0, 1, 2, 3])("the oldest of them first, also after a restart: number %i", async (oldest) => {
    const dir = join(bench.dir, "alone");
    mkdirSync(dir);
    const key = await hostKeyIn(dir);
    const keep = async (secrets: AttemptSecrets, n: number) => {
      const sealed = await seal(fourthOf(n), key.publicKey, contextOfHanded("w-1", idOf(n), "WORD"));
      await secrets.keep(idOf(n), "w-1", { items: [{ name: "WORD", ...sealed }] });
    };
    const fileOfSealed = (n: number) => join(dir, "sealed", `${idOf(n).replaceAll("/", "_")}.json`);
    const before = await AttemptSecrets.open(dir, key, []);
    for (const n of [0, 1, 2, 3]) await keep(before, n);
    for (const n of [0, 1, 2, 3]) utimesSync(fileOfSealed(n), 0, n === oldest ? 1 : 2);
    const after = await AttemptSecrets.open(dir, key, []);
    after.prune([], ["build-17/1"]);
    await keep(after, 4);
    const gone = [0, 1, 2, 3, 4].filter((n) => !existsSync(fileOfSealed(n)));
    expect(gone).toEqual([oldest]);
  });
});
