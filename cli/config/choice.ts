// What chooses the Drover: a flag, the environment, the current context, or the nearest `drover up`?
import { CliError } from "../errors.ts";
import type { Io } from "../terminal/io.ts";
import { LOCAL } from "./config.ts";

/** The parts of the process that choose a Drover. */
export type Where = Pick<Io, "env" | "cwd" | "state" | "context">;

/** Which Drover is chosen, and `by` what, in words. */
export type Choice = { by: string } & (
  | { kind: "state"; directory: string }
  | { kind: "variables"; url: string; token: string }
  | { kind: "context"; name: string }
  | { kind: "nearest" }
);

/**
 * Chooses a Drover (cli.md#which). `current` reads the name of the current context, and is asked only if
 * neither a flag nor the environment has chosen. Throws a `CliError` if two things choose at once.
 */
export function choiceOf(io: Where, current: () => string | undefined): Choice {
  refuseHalves(io.env);
  const chosen = byFlag(io) ?? byEnvironment(io.env);
  if (chosen !== undefined) return chosen;
  const name = current();
  return name === undefined
    ? { kind: "nearest", by: "no context is in use" }
    : named(name, "its context is in use");
}

function byFlag({ state, context }: Where): Choice | undefined {
  if (state !== undefined && context !== undefined) {
    throw new CliError("--state and --context are both given, but only one can choose the Drover.", [
      "Leave one of them out.",
    ]);
  }
  if (state !== undefined) return { kind: "state", directory: state, by: "--state names it" };
  return context === undefined ? undefined : named(context, "--context names it");
}

function byEnvironment(env: NodeJS.ProcessEnv): Choice | undefined {
  const { DROVER_URL: url, DROVER_TOKEN: token, DROVER_STATE: directory, DROVER_CONTEXT: name } = env;
  const [one, another] = ["DROVER_URL", "DROVER_STATE", "DROVER_CONTEXT"].filter((choosing) => env[choosing]);
  if (another !== undefined) {
    throw new CliError(`${one} and ${another} are both set, but only one can choose the Drover.`, [
      "Unset one of them.",
    ]);
  }
  if (url) {
    if (token) return { kind: "variables", url, token, by: "DROVER_URL is set" };
    throw new CliError("DROVER_URL is set, but DROVER_TOKEN is not.", [
      "Set DROVER_TOKEN to a token of that Drover, or unset DROVER_URL to use a context or a local Drover.",
    ]);
  }
  if (directory) return { kind: "state", directory, by: "DROVER_STATE is set" };
  return name ? named(name, "DROVER_CONTEXT is set") : undefined;
}

/** A token is only sent to the Drover that it was given with. */
function refuseHalves({ DROVER_URL: url, DROVER_TOKEN: token }: NodeJS.ProcessEnv): void {
  if (token && !url) {
    throw new CliError(
      "DROVER_TOKEN is set, but DROVER_URL is not, so it is unclear which Drover the token is for.",
      ["Set DROVER_URL to that Drover, or unset DROVER_TOKEN to use a context or a local Drover."],
    );
  }
}

function named(name: string, by: string): Choice {
  return name === LOCAL ? { kind: "nearest", by } : { kind: "context", name, by };
}
