// What does a command say if Drover does not take a run?
import { ApiError, UnreachableError } from "../../client/errors.ts";
import { CliError } from "../errors.ts";
import { printable } from "../terminal/text.ts";
import { flagOfPointer, type NamedSpec, type SpecFlags } from "./spec.ts";

/**
 * Puts a failed submission into words, with fields named as on the command line or in the file. The runs of
 * an array differ in nothing that a user wrote, so an error of several of them is told once. `context`: the
 * name of the context that has added something to it.
 */
export function refusal(
  error: unknown,
  spec: NamedSpec,
  flags: SpecFlags & { file?: string },
  context?: string,
): unknown {
  const added = context === undefined ? [] : [`The context ${context} adds to each run: drover context show`];
  const named = (pointer: string) =>
    flagOfPointer(
      spec.array === undefined ? pointer : pointer.replace(/^\/runs\/\d+/, ""),
      spec,
      flags.file === undefined ? undefined : flags,
    );
  if (error instanceof ApiError && error.code === "run_exists") return idTaken(error, spec.id, named);
  if (error instanceof ApiError && error.errors.length > 0) {
    const wrong = new Set(error.errors.map(({ pointer, detail }) => `${named(pointer)}: ${detail}`));
    return new CliError("This run is not accepted.", [...[...wrong].map(printable), ...added]);
  }
  if (error instanceof ApiError && error.code === "unknown_pool") {
    return new CliError(printable(error.detail), ["Choose one of: drover pools", ...added]);
  }
  if (error instanceof UnreachableError && !error.neverSent) {
    return new CliError(`Drover at ${error.url} does not answer: ${error.reason}.`, [
      `It may have received the run, as ${spec.id}. When it answers again: drover status ${spec.id}`,
    ]);
  }
  return error;
}

/** The error for an id that already belongs to a different run. */
function idTaken({ detail, errors }: ApiError, id: string, named: (pointer: string) => string): CliError {
  const fields = [...new Set(errors.map(({ pointer }) => named(pointer)))].join(", ");
  const what = fields === "" ? printable(detail) : `Run ${id} exists already, and differs in: ${fields}.`;
  return new CliError(what, [`Choose another --id, or look at that run: drover status ${id}`]);
}
