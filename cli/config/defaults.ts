// What does `drover run` take from its context, where neither a flag nor a file says otherwise?
import type { SpecFlags } from "../run/spec.ts";
import type { Defaults } from "./config.ts";

/** The flags of a run, and the content of its file if it has one. */
export interface Given<Flags> {
  flags: Flags;
  content: object | undefined;
}

/**
 * Adds the defaults of the context (cli.md#defaults). A flag wins over a file, and a file over the context.
 * Variables and secrets are taken one by one: a name that is given as either is not taken at all.
 */
export function withDefaults<Flags extends SpecFlags>(
  { flags, content }: Given<Flags>,
  defaults: Defaults,
): Given<Flags> {
  if (content === undefined) {
    const { env, secret } = joined({ env: flags.env, secrets: flags.secret }, defaults);
    return { flags: { ...flags, pool: flags.pool ?? defaults.pool, env, secret }, content };
  }
  const inside: { pool?: unknown; env?: unknown; secrets?: unknown } = content;
  // What is not a map is left to the server, which names the field.
  const ofFile: Named = { env: mapOf(inside.env), secrets: mapOf(inside.secrets) };
  const ofFlags = { env: flags.env, secrets: flags.secret };
  const named = { env: ofFlags.env ?? ofFile.env, secrets: ofFlags.secrets ?? ofFile.secrets };
  const { env, secret } = joined(named, defaults);
  return {
    flags: {
      ...flags,
      ...(flags.env === undefined ? {} : { env }),
      ...(flags.secret === undefined ? {} : { secret }),
    },
    content: {
      ...(defaults.pool === undefined ? {} : { pool: defaults.pool }),
      ...content,
      ...(env === undefined || isForeign(inside.env) ? {} : { env }),
      ...(secret === undefined || isForeign(inside.secrets) ? {} : { secrets: secret }),
    },
  };
}

type Named = Pick<Defaults, "env" | "secrets">;

function joined(given: Named, defaults: Named): { env: Named["env"]; secret: Named["secrets"] } {
  const taken = new Set([...Object.keys(given.env ?? {}), ...Object.keys(given.secrets ?? {})]);
  return {
    env: added(given.env, defaults.env, taken),
    secret: added(given.secrets, defaults.secrets, taken),
  };
}

function added<Value>(
  given: Record<string, Value> | undefined,
  defaults: Record<string, Value> | undefined,
  taken: ReadonlySet<string>,
): Record<string, Value> | undefined {
  const missing = Object.entries(defaults ?? {}).filter(([name]) => !taken.has(name));
  return missing.length === 0 ? given : { ...Object.fromEntries(missing), ...given };
}

function isForeign(value: unknown): boolean {
  return value !== undefined && mapOf(value) === undefined;
}

/** The value, if it is a map. Its values are not looked at. */
function mapOf<Value>(value: unknown): Record<string, Value> | undefined {
  const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
  return isMap ? (value as Record<string, Value>) : undefined; // only its names are used here
}
