// Which archive did the latest upload of a directory make?
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { replaceFile } from "../../disk/atomic.ts";
import { makeDirs } from "../../disk/make-dirs.ts";
import type { Io } from "../terminal/io.ts";

/** An archive, and the digest of the stamps of the files in it. */
export interface Known {
  stamps: string;
  sha256: string;
  bytes: number;
}

/** Who knows the digest of an archive can read it in the store. */
const PRIVATE_DIR = 0o700;
/** One record for each directory that was uploaded, of some 200 bytes. */
const MAX_RECORDS = 500;
const DIGEST = /^[0-9a-f]{64}$/;

/**
 * The folder of the records: below `XDG_CACHE_HOME` if that is an absolute path, else below `~/.cache`.
 * Undefined if this process has no such place, or if it lies in the directory that is uploaded: the records
 * would be sent, and each upload would change what the next one sends.
 */
function folderOf({ env }: Pick<Io, "env">, root: string): string | undefined {
  const { XDG_CACHE_HOME: xdg = "", HOME: home = "" } = env;
  const cache = [xdg, home && join(home, ".cache")].find((one) => isAbsolute(one));
  if (cache === undefined) return undefined;
  const way = relative(real(root), real(cache));
  const isInside = !isAbsolute(way) && way.split(sep)[0] !== "..";
  return isInside ? undefined : join(cache, "drover", "uploads");
}

/** The path without links, as far as there is something. */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === dirname(path) ? path : join(real(dirname(path)), basename(path));
  }
}

function nameOf(root: string): string {
  return `${createHash("sha256").update(root).digest("hex")}.json`;
}

/**
 * What the latest upload of a directory made. Undefined if nothing is known: a record is only a shortcut, so
 * one that cannot be read counts as none.
 */
export function recall(io: Pick<Io, "env">, root: string): Known | undefined {
  const folder = folderOf(io, root);
  if (folder === undefined) return undefined;
  try {
    return knownIn(JSON.parse(readFileSync(join(folder, nameOf(root)), "utf8")));
  } catch {
    return undefined;
  }
}

function knownIn(value: unknown): Known | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { stamps, sha256, bytes } = { stamps: "", sha256: "", bytes: -1, ...value };
  if (![stamps, sha256].every((one) => typeof one === "string" && DIGEST.test(one))) return undefined;
  return Number.isSafeInteger(bytes) && bytes >= 0 ? { stamps, sha256, bytes } : undefined;
}

/** Remembers what an upload made. Without a place for it, or without space, the next upload packs again. */
export function remember(io: Pick<Io, "env">, root: string, known: Known): void {
  const folder = folderOf(io, root);
  if (folder === undefined) return;
  try {
    makeDirs(folder, PRIVATE_DIR);
    replaceFile(join(folder, nameOf(root)), JSON.stringify(known));
    forgetOldest(folder);
  } catch {
    // Nothing depends on the record.
  }
}

function forgetOldest(folder: string): void {
  const names = readdirSync(folder);
  if (names.length <= MAX_RECORDS) return;
  const byAge = names
    .map((name) => join(folder, name))
    .map((path) => ({ path, at: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => a.at - b.at);
  for (const { path } of byAge.slice(0, names.length - MAX_RECORDS)) rmSync(path, { force: true });
}
