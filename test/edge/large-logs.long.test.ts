import { spawn } from "node:child_process";
import { createHash, type Hash } from "node:crypto";
import { createReadStream, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formatSize, parseSize } from "../../src/shared/size.ts";
import { sized } from "../chance/length.ts";
import { until } from "../local/support/scratch.ts";
import { endDrover, killIfThere, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";
import { watchPeaks } from "./support/peaks.ts";

// Random bytes through the whole system: file, agent, Worker, bucket, Worker, command. DROVER_LOG_SIZE=1GiB
// takes the most that is kept of one stream.

const SIZE = process.env.DROVER_LOG_SIZE ?? sized("64MiB", "256MiB");
const BYTES = parseSize(SIZE) ?? 0;
/** What each part may have resident, however large the log is: less than the 256 MiB of the long version. */
const MAX_RESIDENT_BYTES = 250_000_000;

let home: string;
let up: RunningDrover | undefined;
beforeAll(async () => {
  home = makeHome("large-logs");
  up = await startDrover(home);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

/** Writes random bytes into a file; resolves with their digest. */
async function makeRandomFile(file: string, bytes: number): Promise<string> {
  const child = spawn("sh", ["-c", `head -c ${bytes} /dev/urandom >"$1"`, "sh", file], { stdio: "inherit" });
  await new Promise((resolve) => child.once("close", resolve));
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

/** Runs the command with these arguments; what it writes to stdout is digested and not kept. */
function attach(args: string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, "../../bin/drover.mjs"), ...args], {
    cwd: home,
    env: { PATH: process.env.PATH },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const hash: Hash = createHash("sha256");
  let [bytes, stderr] = [0, ""];
  child.stdout.on("data", (part: Buffer) => {
    hash.update(part);
    bytes += part.length;
  });
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve)).then((code) => {
    return { code, stderr, bytes, sha256: hash.digest("hex") };
  });
  return { pid: child.pid ?? 0, ended, bytes: () => bytes };
}

test(`${SIZE} of random bytes through \`drover run -- cat\` compare equal, at constant memory`, {
  timeout: 600_000,
}, async () => {
  if (up === undefined) throw new Error("it is not up");
  const file = join(home, "random");
  const sha256 = await makeRandomFile(file, BYTES);
  const beganAt = performance.now();
  // It would say that it waits, on a busy machine.
  const command = attach(["run", "--quiet", "--id", "large", "--", "cat", file]);
  const watch = watchPeaks(up.stateDir, command.pid);
  const ended = await command.ended;
  const seconds = (performance.now() - beganAt) / 1_000;
  const peaks = watch.stop();
  const told = Object.entries(peaks).map(([part, peak]) => `${part} ${Math.round(peak / 1e6)} MB`);
  console.info(
    `${SIZE} in ${seconds.toFixed(1)} s (${formatSize(Math.round(BYTES / seconds))}/s); ${told.join(", ")}`,
  );
  expect(ended).toEqual({ code: 0, stderr: "", bytes: BYTES, sha256 });
  for (const peak of Object.values(peaks)) {
    expect(peak).toBeGreaterThan(0);
    expect(peak).toBeLessThan(MAX_RESIDENT_BYTES);
  }
  expect(await attach(["logs", "large"]).ended).toMatchObject({ code: 0, bytes: BYTES, sha256 });
});

test("all of it comes out although the control plane is killed in the middle", async () => {
  const bytes = 96 * 1_024 * 1_024;
  const file = join(home, "more");
  const sha256 = await makeRandomFile(file, bytes);
  const command = attach(["run", "--id", "struck", "--", "cat", file]);
  await until("a part of it has come", () => command.bytes() > 8_000_000 || undefined);
  killIfThere(-(up?.pid ?? 0));
  await up?.ended;
  expect(command.bytes()).toBeLessThan(bytes);
  up = await startDrover(home);
  expect(await command.ended).toMatchObject({ code: 0, bytes, sha256 });
});

test("bytes are bytes: all values, no text, and no newline at the end", async () => {
  const [odd, all] = [join(home, "odd"), Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))];
  const invalidUtf8 = Buffer.from([0xc3, 0x28, 0xff, 0xfe, 0, 0x80, 0x0d, 0x0a, 0x0d]);
  // Longer than what reports carry, and of no even length.
  const content = Buffer.concat([...Array<Buffer>(5_000).fill(all), invalidUtf8]);
  writeFileSync(odd, content);
  const sha256 = createHash("sha256").update(content).digest("hex");
  const ended = await attach(["run", "--quiet", "--", "cat", odd]).ended;
  expect(ended).toEqual({ code: 0, stderr: "", bytes: content.length, sha256 });
});
