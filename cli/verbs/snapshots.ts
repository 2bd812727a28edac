// `drover snapshots`: stores a directory as a snapshot, or fetches a snapshot.
import { resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { connect } from "../context.ts";
import { path } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { counted, printable } from "../terminal/text.ts";

const UPLOAD_HELP = `
Files that .gitignore and .droverignore exclude are not sent, and .git never is. The
same files are the same snapshot, and are sent once.

Examples:
  id=$(drover snapshots upload .) && drover run --snapshot "$id" -- make test`;

/** `drover snapshots`: stores and fetches archives of files. */
export function addSnapshots(program: Command, io: Io): void {
  const snapshots = program
    .command("snapshots")
    .summary("store and fetch archives of files")
    .description("Stores directories for runs, and fetches them.");
  snapshots
    .command("upload")
    .summary("store a directory and print its id")
    .description("Stores the files of a directory as a snapshot, and prints its id.")
    .argument("<directory>", "the directory", path)
    .addHelpText("after", UPLOAD_HELP)
    .action(async (directory: string) => {
      const { client } = connect(io);
      const { uploadDirectory } = await import("../snapshot/upload.ts");
      await io.stdout.write(`${(await uploadDirectory(io, client, directory)).id}\n`);
    });
  snapshots
    .command("get")
    .summary("fetch a snapshot")
    .description("Fetches a snapshot, and unpacks it.")
    .argument("<id>", "its id, as sha256:<digits>", snapshotId)
    .option("--into <directory>", "where to put its files (default: this directory)", path)
    .action(async (id: string, flags: { into?: string }) => {
      const { client } = connect(io);
      const into = resolve(io.cwd, flags.into ?? ".");
      const { fetchSnapshot } = await import("../snapshot/fetch.ts");
      const files = await fetchSnapshot(io, client, id, into);
      await io.say(`${counted(files, "file")} in ${printable(into)}`);
    });
}

/** Checks the id of a snapshot. */
export function snapshotId(text: string): string {
  if (/^sha256:[0-9a-f]{64}$/.test(text)) return text;
  throw new InvalidArgumentError("It must be sha256: and 64 lower-case hexadecimal digits.");
}
