// `drover pull`: fetches the files that a run left as its result.
import { resolve } from "node:path";
import type { Command } from "commander";
import type { RunStatus } from "../../client/types.ts";
import { connect } from "../context.ts";
import { CliError, EXIT } from "../errors.ts";
import { path } from "../options.ts";
import { RUN_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";
import { counted, printable } from "../terminal/text.ts";

const HELP = `
A run has a result if it was started with --out and its command ended by itself,
successfully or not. Files of the same name are replaced, others stay; nothing outside
the directory is touched, and .git and .drover are never unpacked. A result with files
that --out did not name is refused as a whole. The exit code is ${EXIT.no} if there is no result.

Examples:
  drover pull build-17
  drover pull build-17 --into results`;

/** `drover pull`: fetches the result of a run. */
export function addPull(program: Command, io: Io): void {
  program
    .command("pull")
    .summary("fetch the result of a run")
    .description("Fetches the files that a run has left as its result, and unpacks them.")
    .argument("<run>", RUN_TEXT)
    .option("--into <directory>", "where to put them (default: this directory)", path)
    .addHelpText("after", HELP)
    .action(async (text: string, flags: { into?: string }) => {
      const { client } = connect(io);
      const run = await withRun({ io, client }, text, (id) => client.runs.get(id));
      if (!run.snapshot) throw noResult(run);
      const into = resolve(io.cwd, flags.into ?? ".");
      // Loaded on demand: other verbs need not wait for the archive code.
      const { fetchSnapshot } = await import("../snapshot/fetch.ts");
      const { resultOf } = await import("../../archive/result.ts");
      const wanted = resultOf(run.spec.outputs ?? []);
      const files = await fetchSnapshot(io, client, run.snapshot, into, wanted);
      await io.say(`${counted(files, "file")} of run ${run.id} in ${printable(into)}`);
    });
}

/** Why a run has no result. The order matters: if one reason applies, the later reasons are irrelevant. */
function noResult({ id, state, spec, failure }: RunStatus): CliError {
  const no = (why: string, ...hints: string[]) =>
    new CliError(`Run ${id} has no result: ${why}.`, hints, EXIT.no);
  if (!Array.isArray(spec.outputs)) {
    return no(
      "it was submitted without outputs",
      "Outputs are declared when a run is submitted: drover run --out",
    );
  }
  if (state === "pending") return no("it has not started yet", `See what it waits for: drover why ${id}`);
  if (state === "running") return no("it is still running", `Follow it to its end: drover logs -f ${id}`);
  if (failure?.code === "outputs_failed") return no(printable(failure.text).replace(/\.$/, ""));
  return no(`it is ${state}, and its command did not end by itself`, `See \`drover status ${id}\`.`);
}
