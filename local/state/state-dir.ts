// How is a state directory opened, locked, read and wiped?
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { writeAtomically } from "../../disk/atomic.ts";
import { makeDirs } from "../../disk/make-dirs.ts";
import { tryReadJson, tryReadText } from "../../posix/files.ts";
import { takeLock } from "../../posix/lock.ts";
import { errorText } from "../../src/shared/words.ts";
import { choosePort } from "../ports.ts";
import { UpError } from "../up-error.ts";
import { removeEmptyObjects } from "./empty-objects.ts";
import { isDraft, isOurs, NAMES, type Name, pathIn } from "./names.ts";
import { checkModesStay, checkStateDir, checkStateFiles } from "./own-state.ts";

/**
 * The name of the directory with the context. Commands look for it in the current directory and its parents.
 */
export const DEFAULT_STATE_DIR = ".drover";

const Port = z.int().min(1).max(65_535);

/** The values that stay the same across restarts, so that URL, token and machines remain valid. */
const Identity = z.object({
  version: z.literal(1),
  /** The Worker's port. */
  port: Port,
  /** The loopback cloud's port. */
  cloudPort: Port,
  token: z.string(),
  signingKey: z.string(),
  /** Wraps the keys of secrets: `DROVER_KEK_1`. */
  wrappingKey: z.string(),
  providerSecret: z.string(),
});
export type Identity = z.infer<typeof Identity>;

/**
 * Creates a state directory (mode 0700, ignored by Git), or opens an existing one; returns its real path. A
 * directory with foreign files is refused, since `--fresh` and our `.gitignore` could do harm there. A
 * directory that is not the caller's own is refused, too (`own-state.ts`). Throws an `UpError`.
 */
export function openStateDir(path: string, fresh = false): string {
  try {
    makeDirs(path, 0o700);
    const dir = join(realpathSync(dirname(path)), basename(path));
    checkStateDir(dir);
    const foreign = readdirSync(dir).find((name) => !isOurs(name));
    if (foreign !== undefined) {
      throw new UpError(
        `${dir} is not a state directory of Drover: it contains ${foreign}. ` +
          "Choose an empty or new directory with --state.",
      );
    }
    chmodSync(dir, 0o700);
    checkStateFiles(dir, fresh);
    ignoreAll(pathIn(dir, ".gitignore"));
    return dir;
  } catch (error) {
    if (error instanceof UpError) throw error;
    throw new UpError(
      `The state directory ${path} cannot be created or written: ${errorText(error)}. ` +
        "Choose another one with --state.",
    );
  }
}

/** Writes the file only if it differs: on a full disk a rewrite would delete the old text and then fail. */
function ignoreAll(path: string): void {
  const text = "*\n";
  if (tryReadText(path) !== text) writeFileSync(path, text);
}

/**
 * Locks a state directory for this process; returns a function that unlocks it. Two runtimes on one state
 * directory would be two live copies of every object (platform.md#local-crashes). Throws an `UpError` that
 * names the process with the lock.
 */
export function lockStateDir(dir: string): () => void {
  const path = pathIn(dir, "lock");
  const lock = takeLock(path);
  if (lock.holder === undefined) return lock.release;
  const { pid } = lock.holder;
  throw new UpError(
    `Drover is already up here: process ${pid} holds ${path}. Use that one, stop it with Ctrl-C or ` +
      `\`kill ${pid}\`, or choose another state directory with --state.`,
  );
}

/** Deletes the content of a state directory. Call this with its lock, after all its machines have ended. */
export function wipe(dir: string): void {
  const lasting: Name[] = [".gitignore", "lock"];
  for (const name of NAMES.filter((each) => !lasting.includes(each))) {
    rmSync(pathIn(dir, name), { recursive: true, force: true });
  }
}

/**
 * Creates the folders that tools write to, and removes what a killed `drover up` left: temporary files,
 * drafts, databases of objects that store nothing, and the context, whose URL does not answer until we are
 * up.
 */
export function prepareFolders(dir: string): void {
  for (const name of readdirSync(dir)) if (isDraft(name)) rmSync(join(dir, name), { force: true });
  rmSync(pathIn(dir, "tmp"), { recursive: true, force: true });
  for (const name of ["tmp", "cache"] as const) makeDirs(pathIn(dir, name), 0o700);
  removeEmptyObjects(dir);
  removeContext(dir);
}

/** Whether a start here has chosen its ports and secrets before. */
export function hasIdentity(dir: string): boolean {
  return existsSync(pathIn(dir, "up.json"));
}

/** Forgets the ports and secrets, so that the next start chooses others. Nothing may be using them. */
export function forgetIdentity(dir: string): void {
  rmSync(pathIn(dir, "up.json"), { force: true });
}

/**
 * Reads the stored ports and secrets, or creates and stores new ones. A given `port` replaces the stored
 * port, unless `machines` still run: they report to the old port, and would be lost with their runs.
 */
export async function identityOf(dir: string, port: number | undefined, machines: number): Promise<Identity> {
  const path = pathIn(dir, "up.json");
  const stored = existsSync(path) ? readIdentity(path) : undefined;
  if (machines > 0 && stored !== undefined && port !== undefined && port !== stored.port) {
    throw new UpError(
      `Machines of the last \`drover up\` here still run (${machines}), and report to port ${stored.port}. ` +
        `Start without --port to keep them, or with --fresh to end them and delete everything.`,
    );
  }
  const ofWorker = port ?? stored?.port ?? (await choosePort());
  const identity: Identity = {
    version: 1,
    port: ofWorker,
    cloudPort: stored?.cloudPort ?? (await choosePort([ofWorker])),
    token: stored?.token ?? `drv_${secret()}`,
    signingKey: stored?.signingKey ?? secret(),
    wrappingKey: stored?.wrappingKey ?? randomBytes(32).toString("base64"),
    providerSecret: stored?.providerSecret ?? secret(),
  };
  writeAtomically(path, JSON.stringify(identity));
  checkModesStay(dir, path);
  return identity;
}

function readIdentity(path: string): Identity {
  const { data } = Identity.safeParse(tryReadJson(path));
  if (data !== undefined) return data;
  throw new UpError(
    `${path} cannot be read, so the state beside it cannot be used. Start over with --fresh.`,
  );
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}

/**
 * The configuration that the control plane showed after the pool `default` was last put; undefined if that is
 * not known.
 */
export function readPoolNote(dir: string): string | undefined {
  return tryReadText(pathIn(dir, "pool.json"));
}

/** Stores the configuration that the control plane showed of the pool, for the next start. */
export function writePoolNote(dir: string, shown: string): void {
  writeAtomically(pathIn(dir, "pool.json"), shown);
}

/** Tells commands in this directory tree the URL and the token of the control plane. */
export function writeContext(dir: string, context: { url: string; token: string }): void {
  writeAtomically(pathIn(dir, "context.json"), `${JSON.stringify(context)}\n`);
}

/** Tells commands that no control plane is up here. */
export function removeContext(dir: string): void {
  rmSync(pathIn(dir, "context.json"), { force: true });
}
