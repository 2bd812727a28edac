// Which values do commands use here, and where does each come from?
import { parseToken, TOKEN_PREFIX } from "../../src/shared/access/token-text.ts";
import { type Context, projectFor } from "../context.ts";
import type { Io } from "../terminal/io.ts";
import { LOCAL } from "./config.ts";

/** One value, and where it comes from. */
export interface Shown {
  what: string;
  value: string;
  from: string;
}

/**
 * What commands use here (cli.md#which). Of a token only the id is shown. `path`: the config file, if this
 * process has a home.
 */
export function shownContext(
  io: Pick<Io, "env" | "project">,
  context: Context,
  path: string | undefined,
): Shown[] {
  const { url, token, name, by, file, defaults } = context;
  const stored = `context ${name}, in ${path}`;
  const isStored = name !== undefined && name !== LOCAL;
  const source = file ?? (isStored ? stored : undefined);
  const project = projectFor(io, context);
  const { pool, env = {}, secrets = {} } = defaults;
  return [
    { what: "context", value: name ?? "(none)", from: by },
    { what: "Drover", value: url, from: source ?? "DROVER_URL" },
    { what: "token", value: tokenText(token), from: source ?? "DROVER_TOKEN" },
    ...(project === undefined ? [] : [{ what: "project", value: project.name, from: project.by }]),
    ...(pool === undefined ? [] : [{ what: "pool", value: pool, from: stored }]),
    ...Object.entries(env).map(([one, value]) => ({
      what: "variable",
      value: `${one}=${value}`,
      from: stored,
    })),
    ...Object.entries(secrets).map(([one, { secret, as }]) => ({
      what: "secret",
      value: `${one}=${secret}:${as}`,
      from: stored,
    })),
  ];
}

function tokenText(token: string): string {
  const parsed = parseToken(token);
  return parsed.kind === "token" ? `${TOKEN_PREFIX}${parsed.id}…` : "(set)";
}
