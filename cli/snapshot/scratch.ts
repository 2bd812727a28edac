import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliError } from "../errors.ts";
import { listenForInterrupts } from "../terminal/interrupts.ts";

/**
 * Does work that needs a file for a while. An interrupt ends it, and whatever ends it, nothing of the file is
 * left.
 */
export async function withScratchFile<Result>(
  work: (file: string, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const interrupts = listenForInterrupts();
  const stop = new AbortController();
  void interrupts.first.then(({ signal, exitCode }) =>
    stop.abort(new CliError(`Stopped by ${signal}.`, [], exitCode)),
  );
  const folder = await mkdtemp(join(tmpdir(), "drover-"));
  try {
    return await work(join(folder, "snapshot"), stop.signal);
  } finally {
    interrupts.release();
    await rm(folder, { recursive: true, force: true });
  }
}
