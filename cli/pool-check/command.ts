// What `drover pools check` does: checks a pool of a Drover, or of a file, and prints what it finds.
import type { PutPoolConfig } from "../../src/schema/pool.ts";
import { TRAITS } from "../../src/shared/cloud/kinds.ts";
import { connect } from "../context.ts";
import { CliError, EXIT } from "../errors.ts";
import { contentOf, readPoolFile } from "../json-file.ts";
import type { Io } from "../terminal/io.ts";
import { checkPool } from "./checks.ts";
import { isFine } from "./finding.ts";
import { reportJson, reportText } from "./report.ts";
import { type Ruled, ruled } from "./rules.ts";

/** What the command was given. `credentials`: the name of a file, or `-`. */
export interface CheckOptions {
  name: string | undefined;
  file: string | undefined;
  credentials: string | undefined;
  json: boolean;
}

/** Checks a pool and prints the findings. Resolves with the exit code. */
export async function poolCheck(io: Io, options: CheckOptions): Promise<number> {
  const { name, content } = await poolOf(io, options);
  const read = ruled(name, content);
  const credentials = "config" in read ? await credentialsFor(read, options.credentials) : "";
  const report = await checkPool(name, read, credentials);
  await io.stdout.write(options.json ? reportJson(report) : reportText(report));
  return isFine(report.findings) ? 0 : EXIT.no;
}

async function poolOf(
  io: Io,
  { name, file, credentials }: CheckOptions,
): Promise<{ name: string; content: object }> {
  if ((name === undefined) === (file === undefined)) {
    throw new CliError("Which pool?", [
      "Name a pool of your Drover, or give a file with -f: drover pools check -f pool.json",
    ]);
  }
  if (file === "-" && credentials === "-") {
    throw new CliError("Only one of the pool and its credentials can come from standard input.", [
      "Put the other one into a file.",
    ]);
  }
  if (file === undefined) {
    const view = await connect(io).client.pools.get(name ?? "");
    return { name: view.name, content: view.config };
  }
  return readPoolFile(file);
}

/** The text of the credentials. No Drover shows those of a pool, so they are asked for. */
async function credentialsFor(read: Ruled & { config: PutPoolConfig }, given: string | undefined) {
  const { provider } = read.config;
  if (provider.kind === "none") return "";
  if (given !== undefined) return contentOf(given);
  if (provider.kind === "http" && typeof provider.secret === "string") return provider.secret;
  throw new CliError(`To check ${TRAITS[provider.kind].title}, its credentials are needed.`, [
    "Give their text with --credentials: the name of a file, or - for standard input. No Drover shows them.",
  ]);
}
