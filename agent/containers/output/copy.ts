// How does the output of a container get into the files of its attempt (containers.md#output)?
import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { isDiskFull } from "../../../posix/errors.ts";
import type { StreamName } from "../../../src/schema/host.ts";
import type { Millis } from "../../../src/shared/machine.ts";
import type { Frame } from "../../engine/types.ts";
import type { AttemptDirs } from "../../exec/processes/dirs.ts";

/** How long to wait before the disk is tried again. */
const FULL_AGAIN_MS: Millis = 1_000;

type Files = Record<StreamName, FileHandle>;

/**
 * Copies frames to the ends of both stream files. The engine repeats its output from the first byte on, so as
 * many bytes of each stream are passed over as its file has: the file is the only count, and an agent that
 * dies in between loses and doubles nothing. Resolves when the frames have ended; rejects with their error,
 * or with the reason of `stop`.
 */
export async function copyOutput(
  frames: AsyncIterable<Frame>,
  dirs: Pick<AttemptDirs, StreamName>,
  stop: AbortSignal,
): Promise<void> {
  const files = await openBoth(dirs);
  try {
    const left = { stdout: await sizeOf(files.stdout), stderr: await sizeOf(files.stderr) };
    for await (const { stream, data } of frames) {
      const known = Math.min(left[stream], data.length);
      left[stream] -= known;
      if (known < data.length) await append(files[stream], data.subarray(known), stop);
    }
  } finally {
    await Promise.all(Object.values(files).map((file) => file.close()));
  }
}

async function openBoth({ stdout, stderr }: Pick<AttemptDirs, StreamName>): Promise<Files> {
  const first = await open(stdout, "a", 0o600);
  try {
    return { stdout: first, stderr: await open(stderr, "a", 0o600) };
  } catch (error) {
    await first.close();
    throw error;
  }
}

async function sizeOf(file: FileHandle): Promise<number> {
  return (await file.stat()).size;
}

/** Appends all bytes. On a full disk it waits: the engine keeps what comes after. */
async function append(file: FileHandle, bytes: Buffer, stop: AbortSignal): Promise<void> {
  for (let from = 0; from < bytes.length; ) {
    try {
      from += (await file.write(bytes, from)).bytesWritten;
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      await sleep(FULL_AGAIN_MS, undefined, { signal: stop, ref: false });
    }
  }
}
