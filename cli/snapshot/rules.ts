import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { ArchiveFault, isSystemError } from "../../archive/faults.ts";
import { Patterns } from "./patterns.ts";

/** The files that say what is left out, in the order in which they count: the last word is the latter's. */
const RULE_FILES = [".gitignore", ".droverignore"] as const;
/** What marks the top of a repository: rules above it do not count. */
const REPOSITORY = ".git";
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const MAX_FILE_BYTES = 1024 * 1024;
/** What the rules for a directory may cost for each byte of a name: a long name takes some 50 ms then. */
const MAX_WORK = 16_384;

/** Which files of a directory are left out, as Git understands it (gitignore(5)). */
export class Rules {
  /** Those of each file from the top on, as they stand in this directory. */
  readonly #files: readonly Patterns[];

  private constructor(files: readonly Patterns[]) {
    this.#files = files;
  }

  /**
   * Those that hold for a directory from above: from the top of its repository on. If they leave the
   * directory itself out, none of them counts: it was asked for by its name. Throws an `ArchiveFault` if a
   * file has more rules than anybody needs.
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

  /** These, and those of the directory's own files. */
  async with(directory: string): Promise<Rules> {
    const texts = await Promise.all(RULE_FILES.map((name) => readRules(join(directory, name))));
    const own = texts.filter((text) => text !== "").map((text) => Patterns.read(text));
    if (own.length === 0) return this;
    const files = [...this.#files, ...own];
    if (files.reduce((sum, { work }) => sum + work, 0) <= MAX_WORK) return new Rules(files);
    throw new ArchiveFault(`there are too many rules in .gitignore and .droverignore, up to ${directory}`);
  }

  /** Those that hold in a directory that lies in this one, beside its own. */
  into(name: string): Rules {
    return new Rules(this.#files.map((file) => file.into(bytesOf(name))));
  }

  leavesOut(name: string, isDirectory: boolean): boolean {
    const bytes = bytesOf(name);
    for (let index = this.#files.length - 1; index >= 0; index -= 1) {
      const said = this.#files[index]?.leavesOut(bytes, isDirectory);
      if (said !== undefined) return said;
    }
    return false;
  }
}

/** One character for each byte: so Git compares names. */
function bytesOf(name: string): string {
  return Buffer.from(name).toString("latin1");
}

/** The nearest directory, this one or one above, that is a repository; this one if none is. */
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
 * What is no file has no rules in it, and nobody waits for it: not a pipe, and not a link to one, or to a
 * device. As Git does, no link is followed.
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
