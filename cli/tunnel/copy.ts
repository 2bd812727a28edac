// How are files copied into a run, and out of it (tunnels.md#copies)?
import { createWriteStream, statSync } from "node:fs";
import { cp, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { UNPACK_BOUNDS } from "../../archive/bounds.ts";
import { ArchiveFault } from "../../archive/faults.ts";
import { unpack } from "../../archive/unpack.ts";
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import { formatSize } from "../../src/shared/size.ts";
import { CliError } from "../errors.ts";
import { withScratchFile } from "../snapshot/scratch.ts";
import type { Io } from "../terminal/io.ts";
import { watchWork } from "../terminal/progress.ts";
import { printable } from "../terminal/text.ts";
import copyIn from "./copy-in.sh";
import copyOut from "./copy-out.sh";

/** Where to copy. `remote`: a path in the run, from the directory of its task. */
export interface Copy {
  run: string;
  task?: string | undefined;
  remote: string;
  /** A path on this machine. */
  local: string;
}

/** How often an archive is sent if connections break. */
const MAX_TRIES = 3;
/** The most that is shown of what a program in the run has said. */
const MAX_SAID_CHARS = 1_000;

/** Copies a file or a directory out of a run. */
export async function copyFromRun(io: Io, client: Client, { run, task, remote, local }: Copy): Promise<void> {
  const name = nameIn(remote);
  const to = isDirectory(local) ? join(local, name) : resolve(local);
  let received = 0;
  const work = watchWork(io, () => `Copying from run ${run}: ${formatSize(received)} so far`);
  try {
    await withScratchFile(async (file, signal) => {
      const out = createWriteStream(file, { mode: 0o600 });
      const stdout = async (bytes: Uint8Array) => {
        received += bytes.length;
        if (!out.write(bytes)) await new Promise<void>((go) => out.once("drain", () => go()));
      };
      await program(client, run, { argv: ["sh", "-c", copyOut, "sh", remote], task, stdout, signal });
      await new Promise<void>((resolve, reject) => out.once("error", reject).end(resolve));
      await placeUnpacked(file, name, to, signal);
    });
  } finally {
    await work.stop();
  }
}

/** Copies a file or a directory of this machine into a run. */
export async function copyToRun(io: Io, client: Client, { run, task, remote, local }: Copy): Promise<void> {
  const from = resolve(local);
  if (statSync(from, { throwIfNoEntry: false }) === undefined) {
    throw new CliError(`There is no ${printable(local)} to copy.`);
  }
  const name = basename(from);
  const { create } = await import("tar");
  let sent = 0;
  const work = watchWork(io, () => `Copying into run ${run}: ${formatSize(sent)} so far`);
  const argv = ["sh", "-c", copyIn, "sh", remote, name];
  async function* input() {
    sent = 0;
    for await (const bytes of create({ cwd: dirname(from), gzip: true }, [`./${name}`])) {
      yield bytes;
      sent += bytes.length;
    }
  }
  try {
    await withoutHoles((connected) => program(client, run, { argv, task, input, connected }));
  } finally {
    await work.stop();
  }
}

/**
 * Sends an archive again if a try failed on which the connection broke: what was just being written when an
 * agent died may be missing (tunnels.md#survives). Nothing is at its place before a whole archive has come.
 */
async function withoutHoles(
  send: (connected: (isConnected: boolean) => void) => Promise<void>,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    let connections = 0;
    try {
      await send((isConnected) => {
        if (isConnected) connections += 1;
      });
      return;
    } catch (error) {
      const isHole =
        error instanceof CliError || (error instanceof ApiError && error.code === "tunnel_ended");
      if (!isHole || connections < 2 || tries === MAX_TRIES) throw error;
    }
  }
}

interface Program {
  argv: string[];
  task?: string | undefined;
  stdout?: (bytes: Uint8Array) => Promise<void>;
  input?: () => AsyncIterable<Uint8Array>;
  connected?: (isConnected: boolean) => void;
  signal?: AbortSignal;
}

/** Runs a program in a run. Throws a `CliError` with its words unless it succeeds. */
async function program(client: Client, run: string, { input, ...options }: Program): Promise<void> {
  let said = "";
  const stderr = (bytes: Uint8Array) => {
    said = (said + Buffer.from(bytes).toString()).slice(0, MAX_SAID_CHARS);
  };
  const exec = client.runs.exec(run, { ...options, input: input !== undefined, stderr });
  const passing = async () => {
    for await (const bytes of input?.() ?? []) await exec.write(bytes);
    exec.endInput();
  };
  // If the program ends first, it does not take the rest: its own words say why.
  const passed = input === undefined ? new Promise<never>(() => undefined) : passing().then(() => exec.ended);
  const { exitCode } = await Promise.race([exec.ended, passed]).finally(() => exec.close());
  if (exitCode === 0) return;
  const [why = "", ...more] = said.trim().split("\n").map(printable);
  const reason = why === "" ? `exit code ${exitCode}` : why.replace(/\.$/, "");
  throw new CliError(`Run ${run} cannot copy that: ${reason}.`, more);
}

/** Unpacks an archive with one name beside its place, and then puts it there. */
async function placeUnpacked(file: string, name: string, to: string, signal: AbortSignal): Promise<void> {
  if (!isDirectory(dirname(to))) throw new CliError(`There is no directory ${printable(dirname(to))}.`);
  const part = await mkdtemp(join(dirname(to), ".drover-cp-"));
  try {
    await unpack(file, part, signal, UNPACK_BOUNDS);
    const from = join(part, name);
    if (isDirectory(to) && isDirectory(from))
      await cp(from, to, { recursive: true, preserveTimestamps: true });
    else await rename(from, to);
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
    throw new CliError(`What the run has sent cannot be unpacked: ${printable(error.message)}.`);
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

/** The last name of a path. Throws a `CliError` for a path that has none, such as `..`. */
function nameIn(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (!["", ".", ".."].includes(name)) return name;
  throw new CliError(
    `${printable(path)} does not end with a name, so it is not clear what to call the copy.`,
    ["Name a file or a directory, such as run:results."],
  );
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
