// What does this machine keep of a deployment, so that nothing is lost by a crash (deploy.md#secrets)?
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeAtomically } from "../../disk/atomic.ts";
import { makeDirs } from "../../disk/make-dirs.ts";
import { errorText } from "../../src/shared/words.ts";
import { configPath } from "../config/config-file.ts";
import { CliError } from "../errors.ts";
import { readPrivateFile } from "../own-file.ts";
import type { Io } from "../terminal/io.ts";
import type { Recorded } from "./facts.ts";

const PRIVATE_DIR = 0o700;
const VERSION = 1;

/** What was made for a Worker. Nobody can ask the account for the values. */
export interface DeploymentRecord extends Recorded {
  version: typeof VERSION;
  secrets: Record<string, string>;
  /** The token that is to replace the present one, from before it is sent until the Worker has it. */
  nextToken?: string;
}

/** The folder with the records and backups of an account. */
export function recordFolder(io: Pick<Io, "env">, account: string): string {
  const config = configPath(io);
  if (config === undefined) {
    throw new CliError("HOME is not set, so there is no place for the secrets of the deployment.", [
      "Set HOME, or XDG_CONFIG_HOME, to an absolute path.",
    ]);
  }
  return join(dirname(config), "deployments", account);
}

/** The path of the record of a Worker. */
export function recordPath(io: Pick<Io, "env">, account: string, name: string): string {
  return join(recordFolder(io, account), `${name}.json`);
}

/** Reads the record; an empty one if there is none. Throws a `CliError` for a file that cannot be used. */
export function readRecord(path: string): DeploymentRecord {
  const text = readPrivateFile(path, [
    "It has the secrets of a deployment. Make it and its folder yours alone (chmod 700, chmod 600).",
  ]);
  if (text === undefined) return { version: VERSION, secrets: {} };
  try {
    const record: Partial<DeploymentRecord> = JSON.parse(text);
    if (record.version === VERSION && typeof record.secrets === "object") {
      return { ...record, version: VERSION, secrets: record.secrets };
    }
  } catch {
    // It is not JSON: the error below says so.
  }
  throw new CliError(`${path} cannot be used: it is damaged, or of another version of Drover.`, [
    "It may have the only copy of the secrets of a deployment: keep it. Nothing has been changed.",
  ]);
}

/** Makes the folder of a file, for its owner alone, if it is not there. */
export function makeFolderFor(path: string): void {
  if (!existsSync(dirname(path))) makeDirs(dirname(path), PRIVATE_DIR);
}

/** Writes the record whole or not at all. Throws a `CliError`. */
export function writeRecord(path: string, record: DeploymentRecord): void {
  try {
    makeFolderFor(path);
    writeAtomically(path, `${JSON.stringify(record, null, 2)}\n`);
  } catch (error) {
    throw new CliError(`Cannot write ${path}: ${errorText(error)}`, [
      "Secrets are stored there before they are sent, so nothing has been deployed.",
    ]);
  }
}
