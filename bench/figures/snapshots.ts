// How long does it take to pack and unpack many small files, and a few large ones, beside tar and zstd?
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { programAt } from "../contenders/programs.ts";
import { percentile, type Row, rowOf } from "../table.ts";

const STEP = join(import.meta.dirname, "snapshot-step.ts");
const FOLDERS = 100;
const SMALL_BYTES = 160;
const LARGE_FILES = 2;
const MEGABYTE = 1_000_000;
const BUDGET = "5 × tar";
/** How much is packed. */
export interface Amount {
  files: number;
  megabytes: number;
}

/** What one step took, in milliseconds. */
interface Took {
  clock: number;
  processor: number;
}

/** A step of Drover, or of the other programs. */
interface Step {
  what: string;
  budget?: string;
  act: () => Took;
}

/** Why the comparison is missing, and how to get it; undefined if it is not. */
export function missingForSnapshots(): string | undefined {
  const missing = ["tar", "zstd"].filter((name) => programAt(name) === undefined);
  if (missing.length === 0) return undefined;
  return `tar and zstd were not measured: apt-get install ${missing.join(" ")}`;
}

/**
 * Packs and unpacks in turns with the other programs, below a folder. Each step of Drover is a process of its
 * own, and is counted from its first import. Rows are by the clock, and name the processor time.
 */
export function measureSnapshots(below: string, rounds: number, { files, megabytes }: Amount): Row[] {
  const dir = mkdtempSync(join(below, "drover-bench-snapshots-"));
  try {
    const small = join(dir, "small");
    makeSmall(small, files);
    const large = join(dir, "large");
    makeLarge(large, megabytes);
    return [
      ...measureTree(`${files} small files`, small, dir, rounds),
      ...measureTree(`${megabytes} MB of random bytes`, large, dir, rounds),
    ];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function makeSmall(root: string, files: number): void {
  for (let n = 0; n < FOLDERS; n += 1) mkdirSync(join(root, `${n}`), { recursive: true });
  for (let n = 0; n < files; n += 1) {
    const text = `the content of file ${n}\n`.repeat(10).slice(0, SMALL_BYTES);
    writeFileSync(join(root, `${n % FOLDERS}`, `file-${n}.txt`), text);
  }
}

function makeLarge(root: string, megabytes: number): void {
  mkdirSync(root);
  for (let n = 0; n < LARGE_FILES; n += 1) {
    writeFileSync(join(root, `${n}`), randomBytes((megabytes * MEGABYTE) / LARGE_FILES));
  }
}

function measureTree(name: string, root: string, dir: string, rounds: number): Row[] {
  const [archive, other, into] = [join(dir, "archive"), join(dir, "archive.tar.zst"), join(dir, "into")];
  const ours: Step[] = [
    { what: `pack ${name}`, budget: BUDGET, act: () => drover("pack", root, archive) },
    { what: `unpack ${name}`, budget: BUDGET, act: () => drover("unpack", into, archive) },
    { what: `look at ${name}, unchanged`, act: () => drover("look", root, archive) },
  ];
  const theirs: Step[] = [
    { what: `pack ${name}, tar and zstd -1`, act: () => shell(`tar -c -C ${root} . | zstd -1 -q >${other}`) },
    {
      what: `unpack ${name}, zstd and tar`,
      act: () => shell(`mkdir ${into} && zstd -d -c ${other} | tar -x -C ${into}`),
    },
  ];
  const steps = missingForSnapshots() === undefined ? [...ours, ...theirs] : ours;
  const took = steps.map(() => [] as Took[]);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { act }] of steps.entries()) {
      took[index]?.push(act());
      rmSync(into, { recursive: true, force: true });
    }
    rmSync(other, { force: true });
  }
  return steps.map(({ what, budget = "" }, index) => rowFor(what, took[index] ?? [], budget));
}

function rowFor(what: string, took: Took[], budget: string): Row {
  const processor = percentile(
    took.map((one) => one.processor),
    0.5,
  );
  const clock = took.map((one) => one.clock);
  return rowOf(`${what} (processor ${processor.toFixed(0)} ms)`, "ms", clock, budget);
}

function drover(step: string, directory: string, archive: string): Took {
  return JSON.parse(execFileSync(process.execPath, [STEP, step, directory, archive], { encoding: "utf8" }));
}

/** Runs a script. Bash tells what its children took: `0m0.020s 0m0.098s` in the last line of `times`. */
function shell(script: string): Took {
  const beganAt = performance.now();
  const said = execFileSync("bash", ["-c", `set -e; ${script}; times`], { encoding: "utf8" });
  const clock = performance.now() - beganAt;
  const seconds = [...(said.trim().split("\n").at(-1) ?? "").matchAll(/(\d+)m([\d.]+)s/g)];
  const processor = seconds.reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0);
  return { clock, processor: processor * 1_000 };
}
