// Where is an archive stored while it is packed or fetched, and when is it removed?
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliError } from "../errors.ts";
import { listenForInterrupts } from "../terminal/interrupts.ts";

/** Runs work that needs a temporary file, and always removes the file. An interrupt aborts the work. */
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
