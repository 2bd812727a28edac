// Which local files travel with a submission: `--upload` and `--stdin`.
import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import type { Client } from "../../client/client.ts";
import { MAX_SPEC_BYTES } from "../../src/shared/limits.ts";
import { formatSize } from "../../src/shared/size.ts";
import { errorText } from "../../src/shared/words.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../terminal/io.ts";
import type { SpecFlags } from "./spec.ts";

/**
 * Reads the file of `--stdin`, uploads the directory of `--upload`, and returns the flags with the results.
 */
export async function withInputs<Flags extends SpecFlags & { file?: string }>(
  io: Io,
  client: Client,
  flags: Flags,
): Promise<Flags> {
  const { upload, snapshot, stdin, file } = flags;
  if (upload !== undefined && snapshot !== undefined) {
    throw new CliError("--upload and --snapshot cannot be combined.", [
      "A run gets its files from one of them.",
    ]);
  }
  if (stdin === "-" && file === "-") {
    throw new CliError("--file - and --stdin - cannot be combined.", [
      "Standard input can only be read once.",
    ]);
  }
  const input = stdin === undefined ? undefined : await inputOf(io, stdin);
  if (upload === undefined) return { ...flags, input };
  // Loaded on demand: other runs need not wait for the archive code.
  const { uploadDirectory } = await import("../snapshot/upload.ts");
  const { id } = await uploadDirectory(io, client, upload);
  return { ...flags, input, snapshot: id };
}

/** Reads the command's standard input, which travels inside the submission. */
async function inputOf(io: Io, file: string): Promise<string> {
  const instead = "Send the file with --upload, and let the command read it.";
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of file === "-" ? process.stdin : createReadStream(resolve(io.cwd, file))) {
      parts.push(part);
      bytes += part.length;
      if (bytes > MAX_SPEC_BYTES) break;
    }
  } catch (error) {
    throw new CliError(`Cannot read ${file}: ${errorText(error)}`);
  }
  if (bytes > MAX_SPEC_BYTES) {
    const most = formatSize(MAX_SPEC_BYTES);
    throw new CliError(`${file} is too large for --stdin, which takes less than ${most}.`, [instead]);
  }
  const content = Buffer.concat(parts);
  if (isUtf8(content)) return content.toString();
  throw new CliError(`${file} is not UTF-8 text, which --stdin requires.`, [instead]);
}
