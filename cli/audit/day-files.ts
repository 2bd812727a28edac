// Which exported files of the audit log are there, and in which order do they follow each other?
import { readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { errorText } from "../../src/shared/words.ts";
import { CliError } from "../errors.ts";
import { printable } from "../terminal/text.ts";

/** An exported file, as its name describes it. */
export interface DayFile {
  /** As the caller named it. */
  path: string;
  owner: string;
  day: string;
  /** The first file of a day is 1. */
  part: number;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const FILE = /^([a-z0-9-]+)(?:\.([1-9]\d{0,8}))?\.ndjson$/;
const NAMES = "Exported files are named DAY/OWNER.ndjson, such as 2026-11-24/pool-default.ndjson.";

/**
 * The exported files among these paths and below those that are directories, by owner, in the order of their
 * chain. Throws a `CliError` if a path cannot be read, names no exported file, or if a file is there twice.
 */
export async function dayFiles(paths: readonly string[]): Promise<Map<string, DayFile[]>> {
  const byPlace = new Map<string, DayFile & { real: string }>();
  for (const path of paths) {
    for (const found of await filesOf(path)) {
      const place = `${found.owner} ${found.day} ${found.part}`;
      const other = byPlace.get(place);
      if (other !== undefined && other.real !== found.real) {
        throw new CliError(`${printable(other.path)} and ${printable(found.path)} are the same day's file.`, [
          "Verify the files of one Drover at a time.",
        ]);
      }
      byPlace.set(place, found);
    }
  }
  const owners = new Map<string, DayFile[]>();
  for (const { real: _real, ...file } of [...byPlace.values()].sort(inOrder)) {
    owners.set(file.owner, [...(owners.get(file.owner) ?? []), file]);
  }
  return owners;
}

async function filesOf(path: string): Promise<(DayFile & { real: string })[]> {
  const { isDirectory, files } = await listed(path).catch((error) => {
    throw new CliError(`Cannot read ${printable(path)}: ${errorText(error)}`);
  });
  const found = files.flatMap(({ shown, real }) => {
    const file = dayFileOf(shown, real);
    return file === undefined ? [] : { ...file, real };
  });
  if (found.length > 0) return found;
  const what = isDirectory ? "has no exported file of the audit log" : "is no exported file of the audit log";
  throw new CliError(`${printable(path)} ${what}.`, [NAMES]);
}

async function listed(path: string) {
  const real = await realpath(path);
  if (!(await stat(real)).isDirectory()) return { isDirectory: false, files: [{ shown: path, real }] };
  const entries = await readdir(real, { recursive: true, withFileTypes: true });
  const files = entries.flatMap((entry) => {
    if (!entry.isFile()) return [];
    const full = join(entry.parentPath, entry.name);
    return { shown: join(path, full.slice(real.length)), real: full };
  });
  return { isDirectory: true, files };
}

/** What the name of a file says. Undefined: it is not that of an exported file. */
function dayFileOf(path: string, real: string): DayFile | undefined {
  const [day = "", name = ""] = real.split(sep).slice(-2);
  const [, owner, part = "1"] = FILE.exec(name) ?? [];
  return owner === undefined || !DAY.test(day) ? undefined : { path, owner, day, part: Number(part) };
}

function inOrder(a: DayFile, b: DayFile): number {
  return a.owner.localeCompare(b.owner) || a.day.localeCompare(b.day) || a.part - b.part;
}
