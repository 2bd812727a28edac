// Does the output of a container come from the engine's file, or from the engine (containers.md#output)?
import { readdirSync, readlinkSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isThere, tryReadText } from "../../../posix/files.ts";
import { listPids } from "../../../posix/proc.ts";
import type { Millis } from "../../../src/shared/machine.ts";
import type { Engine } from "../../engine/engine.ts";
import type { ContainerFacts, Frame } from "../../engine/types.ts";
import { CriLog } from "./cri-log.ts";

/** The name of podman's files, whose format is known. */
const CRI_FILE = "ctr.log";
/** How often to look for more in a file: often at first, since a short command has written all by then. */
const LOOKS = { firstMs: 5, longestMs: 50 };
const PIECE_BYTES = 256 * 1024;

/** The output of a container from its first byte on. */
export interface LogSource {
  frames: AsyncIterable<Frame>;
  /** Whether the frames end only with the last byte. If not, they are to be read again. */
  isWhole: boolean;
}

/**
 * What can still come of a container's output (containers.md#survives). `ended`: what its helper has not
 * written down yet. `none`: nothing, since it was left unbegun, though its helper lives.
 */
export type Rest = "all" | "ended" | "none";

/** `signal` ends all, `unfollow` only the wait for more. */
export interface LogSignals {
  signal: AbortSignal;
  unfollow: AbortSignal;
}

/**
 * The engine's own file is exact, needs no engine, and costs one read. Some engines lose the order of their
 * output while somebody follows it, so only what has no such file is followed.
 */
export function logSourceOf(
  engine: Engine,
  { id, logPath }: Pick<ContainerFacts, "id" | "logPath">,
  rest: () => Rest,
  { signal, unfollow }: LogSignals,
): LogSource {
  if (basename(logPath) === CRI_FILE && isThere(logPath))
    return { frames: framesOfFile(logPath, rest, signal), isWhole: true };
  const isWhole = rest() !== "all";
  const until = isWhole ? signal : AbortSignal.any([signal, unfollow]);
  return { frames: engine.logs(id, { follow: !isWhole, signal: until }), isWhole };
}

/** The frames of a file, as long as more can come. Rejects with the system's error or the signal's. */
async function* framesOfFile(path: string, rest: () => Rest, signal: AbortSignal): AsyncGenerator<Frame> {
  const file = await open(path, "r");
  try {
    const log = new CriLog();
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (let lookMs: Millis = LOOKS.firstMs, at = 0; ; ) {
      // In this order: what was written before the end is read after it. An engine may say that a container
      // has ended while what watches it still writes down the rest of its output.
      const coming = rest();
      const isLast = coming === "none" || (coming === "ended" && !isWritten(path));
      const bytes = await readAt(file, piece, at);
      at += bytes;
      // The frames are used before the next read, which overwrites the piece.
      yield* log.feed(piece.subarray(0, bytes));
      if (bytes > 0) lookMs = LOOKS.firstMs;
      else if (isLast) return;
      else {
        await sleep(lookMs, undefined, { signal, ref: false });
        lookMs = Math.min(LOOKS.longestMs, lookMs * 2);
      }
    }
  } finally {
    await file.close();
  }
}

/** Whether a program that watches a container has its file open, and may still write. */
function isWritten(path: string): boolean {
  const container = basename(dirname(dirname(path)));
  return listPids().some((pid) => {
    const isWatcher = (tryReadText(`/proc/${pid}/cmdline`) ?? "").includes(container);
    return isWatcher && hasOpen(pid, path);
  });
}

function hasOpen(pid: number, path: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === path);
  } catch {
    // It has ended, or has closed the file meanwhile: the next look says which.
    return true;
  }
}

async function readAt(file: FileHandle, piece: Buffer, at: number): Promise<number> {
  return (await file.read(piece, 0, piece.length, at)).bytesRead;
}
