// `drover context`: shows and changes which Drover commands use, and what `drover run` takes from it.
import type { Command } from "commander";
import {
  type Config,
  contextIn,
  type Defaults,
  LOCAL,
  type SecretUses,
  withContext,
  withCurrent,
} from "../config/config.ts";
import { changeConfig, configPath, readConfig } from "../config/config-file.ts";
import { type Shown, shownContext } from "../config/show.ts";
import { findContext, unknownContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { listText } from "../list.ts";
import { contextName, environment, projectName, secretUse, words } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { asJson } from "../terminal/text.ts";

const HELP = `
A context is a Drover with the token for it: drover login stores one. The context local
is always there, and stands for the Drover of \`drover up\` in this directory or above it.
--context <name> and DROVER_CONTEXT choose one for a single command and for a shell.

Examples:
  drover context list
  drover context use work
  drover --context local ps
  drover context show
  drover context set --pool gpu --env CI=1 --secret GITHUB_TOKEN:env`;

const SET_HELP = `
drover run uses these where neither a flag nor a file says otherwise. Values of
variables stand in the file in clear text; of a secret it has only the name.

Examples:
  drover context set --pool gpu
  drover context set --name local --env CI=1
  drover context set --clear pool --clear env`;

/** What `drover context set` can clear. */
const CLEARABLE = ["project", "pool", "env", "secrets"] as const;

interface SetFlags {
  name?: string;
  project?: string;
  pool?: string;
  env?: Record<string, string>;
  secret?: SecretUses;
  clear?: (typeof CLEARABLE)[number][];
}

/** `drover context`: the contexts of the config file (cli.md#contexts). */
export function addContext(program: Command, io: Io): void {
  const context = program
    .command("context")
    .summary("choose the Drover that commands use")
    .description("Shows and chooses the Drover that commands use, and what drover run takes from it.")
    .addHelpText("after", HELP);
  context
    .command("use")
    .summary("use a context from now on")
    .description("Uses this context from now on. local is the Drover of `drover up`.")
    .argument("<context>", "its name", contextName)
    .action((name: string) => use(io, name));
  context
    .command("list")
    .summary("list the contexts")
    .description("Lists the contexts, and marks the one in use.")
    .option("--json", "print JSON, without the tokens")
    .action(async ({ json }: { json?: boolean }) => {
      const config = readConfig(io);
      await io.stdout.write(json ? `${asJson(itemsOf(config))}\n` : listView(io, config));
    });
  context
    .command("show")
    .summary("show which Drover is used, and why")
    .description("Shows the Drover that commands use here, and where each value comes from.")
    .option("--json", "print JSON, without the token")
    .action(async ({ json }: { json?: boolean }) => show(io, json === true));
  addSet(context, io);
  context
    .command("remove")
    .summary("forget a context and its token")
    .description("Forgets a context. Its token stays valid until it is revoked or expires.")
    .argument("<context>", "its name", contextName)
    .action((name: string) => remove(io, name));
}

function addSet(context: Command, io: Io): void {
  context
    .command("set")
    .summary("set what drover run takes from a context")
    .description("Sets what drover run takes from a context.")
    .option("--name <context>", "the context (default: the one in use)", contextName)
    .option("--project <name>", "act in this project, with a token that belongs to none", projectName)
    .option("--pool <name>", "the pool of machines to run on")
    .option(
      "-e, --env <name[=value]>",
      "an environment variable; without a value, copied from here (repeatable)",
      environment(io.env),
    )
    .option(
      "--secret <name[=secret][:file|:env]>",
      "a secret: as a file in DROVER_SECRETS_DIR, or a variable (repeatable)",
      secretUse,
    )
    .option("--clear <what>", `forget that (repeatable): ${CLEARABLE.join(", ")}`, words(CLEARABLE))
    .addHelpText("after", SET_HELP)
    .action((flags: SetFlags) => set(io, flags));
}

async function use(io: Io, name: string): Promise<void> {
  changeConfig(io, (config) => withCurrent(known(config, name), name));
  await io.say(name === LOCAL ? "Commands use the Drover of `drover up`." : `Commands use ${name}.`);
}

async function remove(io: Io, name: string): Promise<void> {
  let wasCurrent = false;
  changeConfig(io, (config) => {
    wasCurrent = config.current === name;
    const left = withContext(known(config, name), name, undefined);
    return wasCurrent ? withCurrent(left, LOCAL) : left;
  });
  await io.say(`Forgot the context ${name}.`);
  if (wasCurrent) await io.say("It was in use: commands now use the Drover of `drover up`.");
}

async function set(io: Io, { name: named, clear = [], ...flags }: SetFlags): Promise<void> {
  if (clear.length === 0 && Object.values(flags).every((value) => value === undefined)) {
    throw new CliError("Nothing to set.", ["Say what, such as: drover context set --pool gpu"]);
  }
  let name = LOCAL;
  changeConfig(io, (config) => {
    name = named ?? config.current ?? LOCAL;
    if (name === LOCAL && flags.project !== undefined) {
      throw new CliError(`The context ${LOCAL} has no project.`, [
        "Its token may act in each: use --project or DROVER_PROJECT.",
      ]);
    }
    const { project, ...before } = contextIn(known(config, name), name) ?? {};
    const kept = Object.entries({ project, ...before }).filter(([field]) => !isCleared(clear, field));
    return withContext(config, name, { ...Object.fromEntries(kept), ...changesOf(before, flags, clear) });
  });
  await io.say(`The context ${name} is changed: drover context show`);
}

function isCleared(clear: SetFlags["clear"], field: string): boolean {
  return clear?.some((one) => one === field) === true;
}

function changesOf(
  before: Defaults,
  { project, pool, env, secret }: SetFlags,
  clear: SetFlags["clear"],
): Defaults & { project?: string } {
  const { env: oldEnv, secrets: oldSecrets } = before;
  return {
    ...(project === undefined ? {} : { project }),
    ...(pool === undefined ? {} : { pool }),
    ...(env === undefined ? {} : { env: isCleared(clear, "env") ? env : { ...oldEnv, ...env } }),
    ...(secret === undefined
      ? {}
      : { secrets: isCleared(clear, "secrets") ? secret : { ...oldSecrets, ...secret } }),
  };
}

/** The config, if it has this context. */
function known(config: Config, name: string): Config {
  if (name === LOCAL || contextIn(config, name) !== undefined) return config;
  throw unknownContext(name, config);
}

function itemsOf(
  config: Config,
): { name: string; inUse: boolean; url: string | null; pool: string | null }[] {
  const { current = LOCAL, contexts } = config;
  const names = [LOCAL, ...Object.keys(contexts).filter((name) => name !== LOCAL)];
  return names.map((name) => {
    const { url = null, pool = null } = contextIn(config, name) ?? {};
    return { name, inUse: name === current, url, pool };
  });
}

function listView(io: Io, config: Config): string {
  const rows = itemsOf(config).map(({ name, inUse, url, pool }) => [
    inUse ? `${name} *` : name,
    url ?? "the nearest `drover up`",
    pool ?? "",
  ]);
  return listText(io, ["CONTEXT", "DROVER", "POOL"], rows, "");
}

async function show(io: Io, json: boolean): Promise<void> {
  const context = findContext(io);
  const shown = shownContext(io, context, configPath(io));
  if (json) {
    const { name = null, by, url } = context;
    const items = shown.map(({ what, value, from }) => ({ what, value, from }));
    return io.stdout.write(`${asJson({ context: name, by, url, values: items })}\n`);
  }
  const row = ({ what, value, from }: Shown) => [what, value, from];
  await io.stdout.write(listText(io, ["WHAT", "VALUE", "FROM"], shown.map(row), ""));
}
