import { statfsSync } from "node:fs";

/** With less than this a disk is full: the databases of the control plane need room to change anything. */
const LEAST_FREE_BYTES = 1024 * 1024;
const LEAST_FREE_FILES = 32;

/** What is free on a disk for this user. `files`: absent where the file system has no such limit. */
export interface Free {
  bytes: number;
  files?: number;
}

/** What is free on the disk of a directory; undefined if the system does not say. */
export function freeBelow(dir: string): Free | undefined {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(dir);
    return { bytes: bavail * bsize, ...(files > 0 ? { files: ffree } : {}) };
  } catch {
    return undefined;
  }
}

/** Whether a disk with so much free is full. */
export function isFull({ bytes, files = Number.POSITIVE_INFINITY }: Free): boolean {
  return bytes < LEAST_FREE_BYTES || files < LEAST_FREE_FILES;
}

/** Says that the disk of a `drover up` is full, and what to do. */
export function fullDiskText(dir: string, { bytes }: Free): string {
  const what = bytes < LEAST_FREE_BYTES ? "" : " (no more files can be made there)";
  return `disk full: ${dir}${what}. Free some space there, and Drover goes on by itself.`;
}
