import { closeSync, openSync, writeSync } from "node:fs";

/** What one run of the Worker may write; a loop of errors must not fill the disk. */
const MAX_LOG_BYTES = 16 * 1024 * 1024;

export interface WorkerLog {
  write(level: string, text: string): void;
  close(): void;
}

/** Opens the file in which the lines of the Worker are kept, anew for each start and up to 16 MiB. */
export function openWorkerLog(path: string): WorkerLog {
  const file = openSync(path, "w", 0o600);
  let left = MAX_LOG_BYTES;
  let open = true;
  return {
    write(level, text) {
      if (!open || left <= 0) return;
      const line = `${new Date().toISOString()} ${level} ${text}\n`;
      left -= Buffer.byteLength(line);
      writeSync(file, left > 0 ? line : "The log is full; what comes now is dropped.\n");
    },
    close() {
      if (open) closeSync(file);
      open = false;
    },
  };
}
