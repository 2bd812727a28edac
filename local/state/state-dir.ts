import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { makeDirs } from "../../disk/make-dirs.ts";
import { errorCode } from "../../posix/errors.ts";
import { writeAtomically } from "../../posix/files.ts";
import { takeLock } from "../../posix/lock.ts";
import { errorText } from "../../src/shared/words.ts";
import { choosePort } from "../ports.ts";
import { UpError } from "../up-error.ts";
import { removeEmptyObjects } from "./empty-objects.ts";
import { isDraft, isOurs, NAMES, type Name, pathIn } from "./names.ts";
import { checkModesStay, checkStateDir, checkStateFiles } from "./own-state.ts";

/** Where commands look for a context, upwards from where they are started. */
export const DEFAULT_STATE_DIR = ".drover";

const Port = z.int().min(1).max(65_535);

/** What a restart keeps, so that its URL, token and machines stay the same. */
const Identity = z.object({
  version: z.literal(1),
  /** Of the Worker. */
  port: Port,
  /** Of the loopback cloud. */
  cloudPort: Port,
  token: z.string(),
  signingKey: z.string(),
  providerSecret: z.string(),
});
export type Identity = z.infer<typeof Identity>;

/**
 * Makes a state directory (mode 0700, ignored by git), or takes an existing one; returns its real path. A
 * directory with anything else in it is refused: `--fresh`, or our `.gitignore`, would not be harmless there.
 * So is one that is not the caller's own (`own-state.ts`).
 */
export function openStateDir(path: string, fresh = false): string {
  try {
    makeDirs(path, 0o700);
    const dir = join(realpathSync(dirname(path)), basename(path));
    checkStateDir(dir);
    const strange = readdirSync(dir).find((name) => !isOurs(name));
    if (strange !== undefined) {
      throw new UpError(
        `${dir} is no state directory of Drover: it has ${strange} in it. ` +
          "Name an empty or a new one with --state.",
      );
    }
    chmodSync(dir, 0o700);
    checkStateFiles(dir, fresh);
    ignoreAll(pathIn(dir, ".gitignore"));
    return dir;
  } catch (error) {
    if (error instanceof UpError) throw error;
    throw new UpError(
      `The state directory ${path} cannot be made or written: ${errorText(error)}. ` +
        "Name another one with --state.",
    );
  }
}

/** Written once: a disk that has become full would take the old text, and not the new one. */
function ignoreAll(path: string): void {
  const text = "*\n";
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) writeFileSync(path, text);
}

/**
 * Locks a state directory for this process; returns what gives it back. Two runtimes on one state directory
 * are two live copies of every object (platform.md#local-crashes). Throws an `UpError` that names the holder.
 */
export function lockStateDir(dir: string): () => void {
  const path = pathIn(dir, "lock");
  const lock = takeLock(path);
  if (lock.holder === undefined) return lock.release;
  const { pid } = lock.holder;
  throw new UpError(
    `Drover is already up here: process ${pid} holds ${path}. Use that one, stop it with Ctrl-C or ` +
      `\`kill ${pid}\`, or name another state directory with --state.`,
  );
}

/**
 * Removes all that is kept in a state directory. Only under its lock, and when no machine of it runs any
 * more.
 */
export function wipe(dir: string): void {
  const stays: Name[] = [".gitignore", "lock"];
  for (const name of NAMES.filter((each) => !stays.includes(each))) {
    rmSync(pathIn(dir, name), { recursive: true, force: true });
  }
}

/**
 * Makes the folders that the tools write to. What a killed `drover up` left in the temporary one goes, and so
 * do its drafts, and what is kept of objects that hold nothing: nobody else will remove them. A context that
 * is still there leads to nothing until we are up.
 */
export function prepareFolders(dir: string): void {
  for (const name of readdirSync(dir)) if (isDraft(name)) rmSync(join(dir, name), { force: true });
  rmSync(pathIn(dir, "tmp"), { recursive: true, force: true });
  for (const name of ["tmp", "cache"] as const) makeDirs(pathIn(dir, name), 0o700);
  removeEmptyObjects(dir);
  removeContext(dir);
}

/**
 * Reads the ports and secrets that are kept, or makes and keeps new ones. A `port` that is given replaces the
 * kept, unless `machines` still run: they report to the old one, and would be lost together with their runs.
 */
export async function identityOf(dir: string, port: number | undefined, machines: number): Promise<Identity> {
  const path = pathIn(dir, "up.json");
  const kept = existsSync(path) ? readIdentity(path) : undefined;
  if (machines > 0 && kept !== undefined && port !== undefined && port !== kept.port) {
    throw new UpError(
      `Machines of the last \`drover up\` here still run (${machines}), and report to port ${kept.port}. ` +
        `Start without --port to go on with them, or with --fresh to end them and forget everything.`,
    );
  }
  const ofWorker = port ?? kept?.port ?? (await choosePort());
  const identity: Identity = {
    version: 1,
    port: ofWorker,
    cloudPort: kept?.cloudPort ?? (await choosePort([ofWorker])),
    token: kept?.token ?? `drv_${secret()}`,
    signingKey: kept?.signingKey ?? secret(),
    providerSecret: kept?.providerSecret ?? secret(),
  };
  writeAtomically(path, JSON.stringify(identity));
  checkModesStay(dir, path);
  return identity;
}

function readIdentity(path: string): Identity {
  try {
    return Identity.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    throw new UpError(
      `${path} cannot be read, so the state beside it is of no use. Start anew with --fresh.`,
    );
  }
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}

/** What the control plane showed of the pool `default` when it had been put last; undefined: nobody knows. */
export function readPoolNote(dir: string): string | undefined {
  try {
    return readFileSync(pathIn(dir, "pool.json"), "utf8");
  } catch {
    return undefined;
  }
}

/** Keeps that for the next start. */
export function writePoolNote(dir: string, shown: string): void {
  writeAtomically(pathIn(dir, "pool.json"), shown);
}

/** Tells commands in this directory tree where the control plane is, and how to speak to it. */
export function writeContext(dir: string, context: { url: string; token: string }): void {
  writeAtomically(pathIn(dir, "context.json"), `${JSON.stringify(context)}\n`);
}

/** Says that there is no control plane here any more. */
export function removeContext(dir: string): void {
  try {
    rmSync(pathIn(dir, "context.json"));
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}
