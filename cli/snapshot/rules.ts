// Which files do `.gitignore` and `.droverignore` exclude, as Git understands them (gitignore(5))?
import { constants, existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { ArchiveFault, isSystemError } from "../../archive/faults.ts";
import { Patterns } from "./patterns.ts";

/** The files with rules. Rules in `.droverignore` override those in `.gitignore`. */
const RULE_FILES: readonly string[] = [".gitignore", ".droverignore"];
/** Marks the top of a repository: rules above it do not apply. */
const REPOSITORY = ".git";
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const MAX_FILE_BYTES = 1024 * 1024;
/** The most steps per byte of a name that all rules of a directory may take. A long name then takes 50 ms. */
const MAX_WORK = 16_384;

/** Whether a file of this name has rules for its directory. Some file systems ignore case. */
export function isRuleFile(name: string): boolean {
  return RULE_FILES.includes(name.toLowerCase());
}

/**
 * Reads the rules above a directory, from the top of its repository down. If these rules exclude the
 * directory itself, none of them applies, since the user named the directory. Throws an `ArchiveFault` if
 * there are too many rules.
 */
export async function rulesAbove(root: string): Promise<Patterns> {
  let at = topOf(root);
  const path = relative(at, root);
  let rules = Patterns.NONE;
  for (const name of path === "" ? [] : path.split("/")) {
    rules = await withOwnRules(rules, at);
    if (rules.leavesOut(name, true)) return Patterns.NONE;
    rules = rules.into(name);
    at = join(at, name);
  }
  return rules;
}

/** Adds the rules of the directory's own files. Throws an `ArchiveFault` if there are too many. */
export async function withOwnRules(above: Patterns, directory: string): Promise<Patterns> {
  const texts = await Promise.all(RULE_FILES.map((name) => readRules(join(directory, name))));
  const rules = texts.reduce((all, text) => all.with(text), above);
  if (rules.work <= MAX_WORK) return rules;
  throw new ArchiveFault(`there are too many rules in .gitignore and .droverignore, up to ${directory}`);
}

/** The nearest repository at or above this directory; this directory if there is none. */
function topOf(root: string): string {
  for (let at = root; ; at = dirname(at)) {
    if (existsSync(join(at, REPOSITORY))) return at;
    if (at === dirname(at)) return root;
  }
}

/**
 * Reads a file of rules. A pipe, a device or a link counts as an empty file, so reading never blocks. Like
 * Git, this function follows no links.
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
