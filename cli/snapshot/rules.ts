import { readFile, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import ignore, { type Ignore } from "ignore";

/** The files that say what is left out, in the order in which they count: the last word is the latter's. */
const RULE_FILES = [".gitignore", ".droverignore"] as const;
/** What marks the top of a repository: rules above it do not count. */
const REPOSITORY = ".git";

/** Which files of a directory are left out, as Git understands it (gitignore(5)), below one directory. */
export class Rules {
  /** Where below the directory of all rules paths begin: nowhere, or a path with a slash behind it. */
  readonly #prefix: string;
  readonly #rules: Ignore;

  private constructor(prefix: string, rules: Ignore) {
    this.#prefix = prefix;
    this.#rules = rules;
  }

  /**
   * Those that hold for a directory from above: from the top of its repository on. If they leave the
   * directory itself out, none of them counts: it was asked for by its name.
   */
  static async from(root: string): Promise<Rules> {
    const top = await topOf(root);
    const path = relative(top, root);
    let rules = new Rules("", empty());
    if (path === "") return rules;
    const parts = path.split("/");
    for (const depth of parts.keys()) {
      rules = await rules.with(top, parts.slice(0, depth).join("/"));
      if (rules.leavesOut(parts.slice(0, depth + 1).join("/"), true)) return new Rules("", empty());
    }
    return new Rules(`${path}/`, rules.#rules);
  }

  /** These, and those of a directory's own files. */
  async with(root: string, path: string): Promise<Rules> {
    const texts = await Promise.all(RULE_FILES.map((name) => readIfThere(join(root, path, name))));
    const below = `${this.#prefix}${path}${path === "" ? "" : "/"}`;
    const patterns = texts.flatMap((text) => patternsOf(text, below));
    if (patterns.length === 0) return this;
    return new Rules(this.#prefix, empty().add(this.#rules).add(patterns));
  }

  leavesOut(path: string, isDirectory: boolean): boolean {
    return this.#rules.ignores(`${this.#prefix}${path}${isDirectory ? "/" : ""}`);
  }
}

function empty(): Ignore {
  return ignore({ ignorecase: false });
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

/** What is no file has no rules in it. */
async function readIfThere(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "EISDIR" || code === "ENOTDIR") return "";
    throw error;
  }
}

/**
 * The patterns of a file that lies below the top, as if they stood in one at the top: one without a slash
 * means any depth below its own directory.
 */
function patternsOf(text: string, below: string): string[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const patterns = lines.filter((line) => !line.startsWith("#") && line.trim() !== "");
  if (below === "") return patterns;
  const folder = `/${below.replace(/[\\*?[\]!# ]/g, "\\$&")}`;
  return patterns.map((line) => {
    const [, no = "", pattern = ""] = /^(!?)(.*)$/s.exec(line) ?? [];
    const isAnchored = /\/./.test(pattern.trimEnd());
    return `${no}${folder}${isAnchored ? pattern.replace(/^\//, "") : `**/${pattern}`}`;
  });
}
