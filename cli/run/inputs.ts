import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import type { Client } from "../../client/client.ts";
import { MAX_SPEC_BYTES } from "../../src/shared/limits.ts";
import { formatSize } from "../../src/shared/size.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../terminal/io.ts";
import type { SpecFlags } from "./spec.ts";

/** Reads and stores what a submission takes along from this machine, and says it in the flags. */
export async function withInputs<Flags extends SpecFlags & { file?: string }>(
  io: Io,
  client: Client,
  flags: Flags,
): Promise<Flags> {
  const { upload, snapshot, stdin, file } = flags;
  if (upload !== undefined && snapshot !== undefined) {
    throw new CliError("Both --upload and --snapshot.", ["A run gets its files from one of them."]);
  }
  if (stdin === "-" && file === "-") {
    throw new CliError("Both --file - and --stdin -.", ["Standard input can be read for one of them."]);
  }
  const input = stdin === undefined ? undefined : await inputOf(io, stdin);
  if (upload === undefined) return { ...flags, input };
  // Loaded here alone: no other run shall wait for what packs archives.
  const { uploadDirectory } = await import("../snapshot/upload.ts");
  const { id } = await uploadDirectory(io, client, upload);
  return { ...flags, input, snapshot: id };
}

/** What the command shall read from its standard input. It travels inside of the submission. */
async function inputOf(io: Io, file: string): Promise<string> {
  const instead = "Give the command a file by --upload, and let it read that.";
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of file === "-" ? process.stdin : createReadStream(resolve(io.cwd, file))) {
      parts.push(part);
      bytes += part.length;
      if (bytes > MAX_SPEC_BYTES) break;
    }
  } catch (error) {
    throw new CliError(`Cannot read ${file}: ${error instanceof Error ? error.message : error}`);
  }
  if (bytes > MAX_SPEC_BYTES) {
    const most = formatSize(MAX_SPEC_BYTES);
    throw new CliError(`${file} is too large for --stdin, which takes less than ${most}.`, [instead]);
  }
  const content = Buffer.concat(parts);
  if (isUtf8(content)) return content.toString();
  throw new CliError(`${file} is no text (UTF-8), as --stdin takes it.`, [instead]);
}
