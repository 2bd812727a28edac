// `drover login`: checks a token of a Drover, and stores both as a context.
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { ApiError, StrangerError, UnreachableError } from "../../client/errors.ts";
import { parseToken } from "../../src/shared/access/token-text.ts";
import { checkedUrl } from "../config/address.ts";
import {
  CONTEXT_NAME_TEXT,
  type Config,
  contextIn,
  isContextName,
  LOCAL,
  withContext,
  withCurrent,
} from "../config/config.ts";
import { changeConfig, readConfig } from "../config/config-file.ts";
import { clientFor, unknownContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { contextName, projectName } from "../options.ts";
import { askSecret, isAtTerminal } from "../terminal/ask.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";

interface LoginFlags {
  name?: string;
  project?: string;
  use: boolean;
}

const LEFT = "Not logged in: nothing has been stored.";

const HELP = `
Reads the token from standard input, or asks for it without showing it. The token is
checked, and stored with the URL in ~/.config/drover/config (or below XDG_CONFIG_HOME),
which only you can read. From then on commands use this context.

Without a URL, another token is stored for the context in use, or for --name.

Examples:
  drover login https://drover.example.com
  drover login https://drover.example.com --name work <token.txt
  drover login --name work     # its token has been rotated
  drover context use local     # the Drover of \`drover up\` again`;

/** `drover login`: stores a context (cli.md#login). */
export function addLogin(program: Command, io: Io): void {
  program
    .command("login")
    .summary("use a Drover elsewhere from now on")
    .description("Stores the URL and the token of a Drover, and uses that Drover from now on.")
    .argument("[url]", "its address, such as https://drover.example.com")
    .option("--name <context>", "what to call it here (default: the host in the URL)", contextName)
    .option("--project <name>", "the project to act in, with a token that belongs to none", projectName)
    .option("--no-use", "store it, and go on using the context in use")
    .addHelpText("after", HELP)
    .action(async (url: string | undefined, flags: LoginFlags) => login(io, url, flags));
}

async function login(io: Io, given: string | undefined, flags: LoginFlags): Promise<void> {
  const config = readConfig(io);
  const url = given === undefined ? urlOf(config, flags) : addressOf(given);
  const name = given === undefined ? (flags.name ?? config.current ?? LOCAL) : nameFor(config, url, flags);
  const token = await readToken(url);
  const { by, expiresAt } = await callerOf(url, token, flags.project);
  const path = changeConfig(io, (before) => {
    const known = contextIn(before, name);
    const { project = known?.project } = flags;
    const stored = withContext(before, name, {
      ...known,
      url,
      token,
      ...(project === undefined ? {} : { project }),
    });
    return flags.use ? withCurrent(stored, name) : stored;
  });
  const until = expiresAt === null ? "" : `, until ${expiresAt}`;
  await io.say(`Logged in to ${url} as ${by}${until}. The context ${name} is stored in ${path}.`);
  await io.say(flags.use ? whatIsUsed(io) : `To use it: drover context use ${name}`);
}

/** What commands use now: the environment wins over a context. */
function whatIsUsed({ env }: Io): string {
  const winner = ["DROVER_URL", "DROVER_STATE", "DROVER_CONTEXT"].find((one) => env[one]);
  if (winner === undefined) return "Commands use it from now on.";
  return `Commands use it once ${winner} is no longer set, which wins over it.`;
}

/** The URL that is stored for a context. */
function urlOf(config: Config, { name = config.current ?? LOCAL }: LoginFlags): string {
  const known = contextIn(config, name);
  if (known?.url !== undefined) return known.url;
  if (name !== LOCAL) throw unknownContext(name, config);
  throw new CliError("It is not clear which Drover to log in to.", [
    "Name it: drover login https://drover.example.com",
  ]);
}

/** An address as people write it, perhaps without `https://`. */
function addressOf(text: string): string {
  const url = checkedUrl(/^[a-z][a-z+.-]*:\/\//i.test(text) ? text : `https://${text}`, "The address");
  const { username, password } = new URL(url);
  if (username === "" && password === "") return url.replace(/\/+$/, "");
  throw new CliError("The address must not hold a user or a password.", [
    "Leave that out. The token is read from standard input, or asked for.",
  ]);
}

/** The name for the context of a URL. A context of another Drover is never replaced. */
function nameFor(config: Config, url: string, { name }: LoginFlags): string {
  const chosen = name ?? new URL(url).host.replaceAll(/[^A-Za-z0-9.-]+/g, "-").replace(/^-+|-+$/g, "");
  if (!isContextName(chosen)) {
    throw new CliError(`${printable(chosen)} cannot be the name of a context, which ${CONTEXT_NAME_TEXT}.`, [
      "Choose one: --name work",
    ]);
  }
  if (chosen === LOCAL) {
    throw new CliError(`\`${LOCAL}\` is the Drover of \`drover up\`, so no other can be called so.`, [
      "Choose another name: --name work",
    ]);
  }
  const known = contextIn(config, chosen);
  if (known === undefined || known.url === url) return chosen;
  throw new CliError(`The context ${chosen} is for ${known.url}.`, [
    `Choose another name with --name, or remove that one: drover context remove ${chosen}`,
  ]);
}

async function readToken(url: string): Promise<string> {
  const token = isAtTerminal()
    ? await askSecret(`The token for ${url} (it is not shown)`, LEFT)
    : (await text(process.stdin)).trim();
  const again = "It is printed by `drover tokens create`, alone on one line. Nothing has been stored.";
  if (token === "") throw new CliError("There is no token on standard input.", [again]);
  if (/[^\x21-\x7e]/.test(token)) throw new CliError("This is no token: it is not one word.", [again]);
  if (parseToken(token).kind === "typo") {
    throw new CliError("The token has a typing error: its checksum does not match.", [
      "Copy it again.",
      again,
    ]);
  }
  return token;
}

/** Who the token is, by its Drover. Rejects with a `CliError` that says why it cannot be used there. */
async function callerOf(
  url: string,
  token: string,
  project: string | undefined,
): Promise<{ by: string; expiresAt: string | null }> {
  const nothing = "Nothing has been stored.";
  try {
    const client = clientFor({ url, token }, project);
    return await client.tokens.caller({ patience: { unreachableMs: 0, busyMs: 0 } });
  } catch (error) {
    if (error instanceof UnreachableError) {
      throw new CliError(`Drover at ${error.url} does not answer: ${error.reason}.`, [
        `Check the address and the network. ${nothing}`,
      ]);
    }
    if (error instanceof StrangerError) {
      throw new CliError(`The program listening on ${error.address} does not know this token.`, [
        `Either it is not that Drover, or the token was revoked or has expired. ${nothing}`,
      ]);
    }
    if (error instanceof ApiError && error.status === 401) {
      throw new CliError(`${url} does not accept this token: ${printable(error.detail)}`, [
        `Ask for another one (drover tokens create). ${nothing}`,
      ]);
    }
    throw error;
  }
}
