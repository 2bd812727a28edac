// Which files do `.gitignore` and `.droverignore` exclude, as Git understands them (gitignore(5))?
import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { ArchiveFault, isSystemError } from "../../archive/faults.ts";
import { Patterns } from "./patterns.ts";

/** The files with rules; the latter overrides the former. */
const RULE_FILES = [".gitignore", ".droverignore"] as const;
/** Marks the top of a repository: rules above it do not apply. */
const REPOSITORY = ".git";
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const MAX_FILE_BYTES = 1024 * 1024;
/** The most steps that all rules of a directory may take for each byte of a name: 50 ms for a long name. */
const MAX_WORK = 16_384;

/** The rules that apply in a directory. */
export class Rules {
  /** The patterns of each file from the top of the repository down, as they apply here. */
  readonly #files: readonly Patterns[];

  private constructor(files: readonly Patterns[]) {
    this.#files = files;
  }

  /**
   * Reads the rules above a directory, from the top of its repository down. If they exclude the directory
   * itself, no rule applies: the user named it. Throws an `ArchiveFault` if there are too many rules.
   */
  static async from(root: string): Promise<Rules> {
    let at = await topOf(root);
    const path = relative(at, root);
    let rules = new Rules([]);
    for (const name of path === "" ? [] : path.split("/")) {
      rules = await rules.with(at);
      if (rules.leavesOut(name, true)) return new Rules([]);
      rules = rules.into(name);
      at = join(at, name);
    }
    return rules;
  }

  /** Adds the rules of the directory's own files. */
  async with(directory: string): Promise<Rules> {
    const texts = await Promise.all(RULE_FILES.map((name) => readRules(join(directory, name))));
    const own = texts.filter((text) => text !== "").map((text) => Patterns.read(text));
    if (own.length === 0) return this;
    const files = [...this.#files, ...own];
    if (files.reduce((sum, { work }) => sum + work, 0) <= MAX_WORK) return new Rules(files);
    throw new ArchiveFault(`there are too many rules in .gitignore and .droverignore, up to ${directory}`);
  }

  /** The rules as they apply in a subdirectory, without its own files. */
  into(name: string): Rules {
    return new Rules(this.#files.map((file) => file.into(bytesOf(name))));
  }

  leavesOut(name: string, isDirectory: boolean): boolean {
    const bytes = bytesOf(name);
    for (let index = this.#files.length - 1; index >= 0; index -= 1) {
      const isLeftOut = this.#files[index]?.leavesOut(bytes, isDirectory);
      if (isLeftOut !== undefined) return isLeftOut;
    }
    return false;
  }
}

/** One character for each byte, since Git compares bytes. */
function bytesOf(name: string): string {
  return Buffer.from(name).toString("latin1");
}

/** The nearest repository at or above this directory; this directory if there is none. */
async function topOf(root: string): Promise<string> {
  for (let at = root; ; at = dirname(at)) {
    if (await isThere(join(at, REPOSITORY))) return at;
    if (at === dirname(at)) return root;
  }
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

/**
 * Reads a file of rules. A pipe, a device or a link counts as an empty file, and never blocks. Like Git, this
 * follows no links.
 */
async function readRules(path: string): Promise<string> {
  try {
    const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const found = await file.stat();
      if (!found.isFile()) return "";
      if (found.size <= MAX_FILE_BYTES) return await file.readFile("latin1");
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isSystemError(error, "ENOENT", "EISDIR", "ENOTDIR", "ELOOP", "ENXIO")) return "";
    throw error;
  }
  throw new ArchiveFault(`${path} is larger than ${MAX_FILE_BYTES} bytes`);
}
