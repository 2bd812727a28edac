import { closeSync, constants, openSync, writeSync } from "node:fs";

const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants;

/** What one run of the Worker may write; a loop of errors must not fill the disk. */
const MAX_LOG_BYTES = 16 * 1024 * 1024;

export interface WorkerLog {
  /** Never throws: a log that cannot be written is no reason to end what it is about. */
  write(level: string, text: string): void;
  close(): void;
}

/**
 * Whether a line is about workerd's own insides, such as a fetch that could not look up a name: the caller
 * has got an error too, and says in plain words what that means.
 */
export function isInternal(text: string): boolean {
  return /^e = \S+:\d+: .*sentryErrorContext = /s.test(text);
}

/**
 * Opens the file in which the lines of the Worker are kept, emptied at each start and up to 16 MiB. Lines
 * that the disk does not take are counted; the first line that it takes again says how many are missing.
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
      guarded(() => {
        if (lost > 0) writeSync(open(), `${lost} lines that could not be written are missing here.\n`);
        lost = 0;
        writeSync(open(), left > line.length ? line : "The log is full; what comes now is dropped.\n");
        left -= Buffer.byteLength(line);
      });
    },
    close() {
      if (file !== undefined && !closed) closeSync(file);
      closed = true;
    },
  };
}
