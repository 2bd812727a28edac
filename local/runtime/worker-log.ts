// Where do the log lines of the Worker go?
import { closeSync, constants, openSync, writeSync } from "node:fs";

const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants;

/** The most that the Worker may log between two starts: a loop of errors must not fill the disk. */
const MAX_LOG_BYTES = 16 * 1024 * 1024;

export interface WorkerLog {
  /** Never throws: a log that cannot be written must not fail its caller. */
  write(level: string, text: string): void;
  close(): void;
}

/**
 * Whether a line is an internal error of workerd, such as a failed name look-up of a fetch. The caller of the
 * fetch gets an error too, and reports it in plain words.
 */
export function isInternal(text: string): boolean {
  return /^e = \S+:\d+: .*sentryErrorContext = /s.test(text);
}

/**
 * Opens the Worker's log file, which is emptied at each start and holds up to 16 MiB. Lines that cannot be
 * written are counted, and the next line that can be written says how many are missing.
 */
export function openWorkerLog(path: string): WorkerLog {
  let file: number | undefined;
  let left = MAX_LOG_BYTES;
  let lost = 0;
  let closed = false;
  const open = () => {
    file ??= openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
    return file;
  };
  const guarded = (act: () => void) => {
    try {
      if (!closed) act();
    } catch {
      lost += 1;
    }
  };
  guarded(open);
  return {
    write(level, text) {
      if (left <= 0) return;
      const line = `${new Date().toISOString()} ${level} ${text}\n`;
      const bytes = Buffer.byteLength(line);
      guarded(() => {
        if (lost > 0) writeSync(open(), `${lost} lines that could not be written are missing here.\n`);
        lost = 0;
        writeSync(open(), left > bytes ? line : "The log is full; further lines are dropped.\n");
        left -= bytes;
      });
    },
    close() {
      if (file !== undefined && !closed) closeSync(file);
      closed = true;
    },
  };
}
