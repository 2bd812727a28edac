// How much room does a disk have, and when is it full?
import { statfsSync } from "node:fs";

/** A disk with less room than this counts as full: the control plane's databases need room for any change. */
const LEAST_FREE_BYTES = 1024 * 1024;
const LEAST_FREE_FILES = 32;

/** How much this user may still write. `files` is absent if the file system does not limit their number. */
export interface Free {
  bytes: number;
  files?: number;
}

/** What is free on the disk of a directory; undefined if the system cannot tell. */
export function freeBelow(dir: string): Free | undefined {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(dir);
    return { bytes: bavail * bsize, ...(files > 0 ? { files: ffree } : {}) };
  } catch {
    return undefined;
  }
}

/** Whether a disk has too little room for Drover to go on. */
export function isFull({ bytes, files = Number.POSITIVE_INFINITY }: Free): boolean {
  return bytes < LEAST_FREE_BYTES || files < LEAST_FREE_FILES;
}

/** The message of `drover up` for a full disk. */
export function fullDiskText(dir: string, { bytes }: Free): string {
  const what = bytes < LEAST_FREE_BYTES ? "" : " (no more files can be created there)";
  return `disk full: ${dir}${what}. Free some space there, and Drover goes on by itself.`;
}
