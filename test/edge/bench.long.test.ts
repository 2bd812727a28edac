import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { percentile } from "../../bench/table.ts";

const MAIN = join(import.meta.dirname, "../../bench/main.ts");
const PROFILE = join(import.meta.dirname, "../../bench/profile/main.ts");
const SNAPSHOTS = join(import.meta.dirname, "../../bench/snapshots.ts");
const REDACTION = join(import.meta.dirname, "../../bench/redaction.ts");

test("the benchmark runs, and prints what it has measured (budgets.md#budgets)", async () => {
  const few = ["--runs", "3", "--keys", "5", "--users", "2", "--trivial", "4", "--hosts", "3"];
  const args = [
    MAIN,
    ...few,
    "--light",
    "8",
    "--mb",
    "2",
    "--rounds",
    "1",
    "--sizes",
    "3",
    "--containers",
    "2",
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  for (const what of ["acknowledged", "process started", "end known"]) {
    expect(stdout).toMatch(new RegExp(`\\| submit → ${what} \\| 3 \\| [\\d.]+ ms \\| [\\d.]+ ms \\|`));
  }
  expect(stdout).toMatch(/\| key typed → shown \(p99 [\d.]+ ms\) \| 5 \| [\d.]+ ms \| [\d.]+ ms \|/);
  expect(stdout).toMatch(/\| throughput, 2 at once \| 4 \| [\d.]+ runs\/s \|/);
  expect(stdout).toMatch(/\| 3 hosts cut off at once → answered again \| 3 \| \d+ ms \| \d+ ms \|/);
  expect(stdout).toMatch(/\| drover up → up \| 1 \| [\d.]+ ms \|/);
  expect(stdout).toMatch(/\| memory of an idle agent, resident \| \d \| [\d.]+ MiB \|/);
  for (const what of ["Drover", "floor: spawn of true from Node", "floor: a new object with one write"]) {
    expect(stdout).toMatch(new RegExp(`\\| batch of 3, ${what} \\| 1 \\| [\\d.]+ runs/s \\|`));
  }
  for (const way of ["Drover", "cat over a socket", "the bucket alone"]) {
    expect(stdout).toMatch(new RegExp(`\\| a stream of output, ${way} \\| 1 \\| [\\d.]+ MB/s \\|`));
    expect(stdout).toMatch(new RegExp(`\\| 8 streams of output at once, ${way} \\| 1 \\| [\\d.]+ MB/s \\|`));
  }
  for (const pools of ["1 pool", "4 pools", "8 pools"]) {
    expect(stdout).toMatch(new RegExp(`\\| 8 runs without machines, ${pools} \\| 1 \\| [\\d.]+ runs/s \\|`));
  }
  const isContained = /\| container: Drover's own share of its start \| 2 \| [\d.]+ ms \|/.test(stdout);
  expect(isContained || /containers were not measured: they need/.test(stdout)).toBe(true);
  expect(stdout).toMatch(/load before/);
}, 600_000);

test("packing and unpacking are measured in turns with tar and zstd (budgets.md#archives)", async () => {
  const args = [SNAPSHOTS, "--rounds", "1", "--files", "100", "--mb", "2"];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  for (const what of ["100 small files", "2 MB of random bytes"]) {
    for (const step of [`pack ${what}`, `unpack ${what}`, `look at ${what}, unchanged`]) {
      expect(stdout).toMatch(new RegExp(`\\| ${step} \\(processor \\d+ ms\\) \\| 1 \\| [\\d.]+ ms \\|`));
    }
  }
  const isMeasured = /pack 100 small files, tar and zstd -1 \(processor \d+ ms\)/.test(stdout);
  expect(isMeasured || /apt-get install .*zstd/.test(stdout)).toBe(true);
});

test("a profile names functions, and is a file that a browser opens (budgets.md#profile)", async () => {
  const dir = mkdtempSync(join(tmpdir(), "drover-profile-"));
  try {
    const out = join(dir, "it.cpuprofile");
    const args = [PROFILE, "--runs", "20", "--out", out];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toMatch(/\| apply \| src\/objects\/actor\.ts \(worker\.js:\d+\) \|/);
    expect(stdout).toMatch(/control plane [\d.]+ ms a run/);
    const profile = JSON.parse(readFileSync(out, "utf8"));
    expect(profile.samples.length).toBe(profile.timeDeltas.length);
    expect(profile.samples.length).toBeGreaterThan(0);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test("the benchmark of redaction uploads the same log both ways (redaction.md#needles)", async () => {
  const args = [REDACTION, "--mib", "8", "--rounds", "1"];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toMatch(/\| no secret \| 1 × 8 MiB \| \d+ \| [\d.]+ \|/);
  expect(stdout).toMatch(/\| 10 secrets \| 1 × 8 MiB \| \d+ \| [\d.]+ \|/);
});

test.each([
  [0.5, 2],
  [0.75, 3],
  [0.95, 4],
  [1, 4],
])("the share %d of four numbers is at %d (nearest rank)", (share, expected) => {
  expect(percentile([4, 1, 3, 2], share)).toBe(expected);
});
