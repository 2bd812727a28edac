// `drover tokens`: creates, lists, rotates and revokes tokens.
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import type { NewToken, RevokedToken, Token, TokenRequest } from "../../client/types.ts";
import { limitsText } from "../../src/shared/access/limits-text.ts";
import { nameIn } from "../../src/shared/access/project.ts";
import {
  GRANTABLE_SCOPES,
  type GrantableScope,
  PRESET_NAMES,
  PRESETS,
  type Preset,
} from "../../src/shared/access/scopes.ts";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { listText } from "../list.ts";
import { amount, duration, pair, positiveDuration, several, wholeNumber, word, words } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { asJson } from "../terminal/text.ts";

const CREATE_HELP = `
Presets:
${PRESET_NAMES.map((name) => `  ${name.padEnd(10)} ${PRESETS[name].join(" ")}`).join("\n")}

With --label, a preset gives only its scopes of runs. A token can only be given what its creator has.

Examples:
  drover tokens create --name ci --preset submitter --expires 90d
  drover tokens create --name team-x --preset submitter --label team=x --max-priority 50
  drover tokens create --name prometheus --preset scraper --source 10.0.0.0/8
  export DROVER_TOKEN=$(drover tokens create --name me --preset operator)   # with DROVER_URL`;

const ROTATE_HELP = `
Prints the new token. Put it everywhere the old one is used before the overlap ends.

Examples:
  drover tokens rotate ci
  drover tokens rotate ci --overlap 0s   # it has leaked: the old secret ends now`;

interface CreateFlags {
  name: string;
  preset?: Preset;
  scope?: GrantableScope[];
  pool?: string[];
  label?: Record<string, string>;
  maxPriority?: number;
  maxCost?: number;
  source?: string[];
  secret?: string[];
  expires?: string;
  json?: boolean;
}

/** `drover tokens`: creates, lists, rotates and revokes tokens. */
export function addTokens(program: Command, io: Io): void {
  const tokens = program
    .command("tokens")
    .summary("create, list, rotate and revoke tokens")
    .description("Tokens let people and programs use this Drover, each with its own scopes and limits.");
  addCreate(tokens, io);
  addList(tokens, io);
  addRotate(tokens, io);
  addRevoke(tokens, io);
}

function addCreate(tokens: Command, io: Io): void {
  tokens
    .command("create")
    .summary("create a token and print it")
    .description("Creates a token and prints it. Nothing else ever shows it again.")
    .requiredOption("--name <name>", "whose token it is, or what it is for; events name it")
    .option("--preset <preset>", `a bundle of scopes: ${PRESET_NAMES.join(", ")}`, word(PRESET_NAMES))
    .option(
      "--scope <scope>",
      `what it may do (repeatable): ${GRANTABLE_SCOPES.join(", ")}`,
      words(GRANTABLE_SCOPES),
    )
    .option("--pool <name>", "only this pool exists for it (repeatable)", several)
    .option(
      "--label <name=value>",
      "its runs get this label; only runs with it exist for it (repeatable)",
      pair,
    )
    .option("--max-priority <n>", "the highest priority of its runs", wholeNumber(1, 100))
    .option("--max-cost <amount>", "what its placed runs may cost per hour together, in each pool", amount)
    .option(
      "--source <network>",
      "accept it only from this network, such as 10.0.0.0/8 (repeatable)",
      several,
    )
    .option("--secret <name>", "its runs get only this secret (repeatable)", several)
    .option("--expires <duration>", "how long it is valid (default: until it is revoked)", positiveDuration)
    .option("--json", "print JSON")
    .addHelpText("after", CREATE_HELP)
    .action(async (flags: CreateFlags) => {
      const { client } = connect(io);
      await show(io, await client.tokens.create(requestOf(flags)), flags.json);
    });
}

function requestOf({ name, preset, scope, expires, ...flags }: CreateFlags): TokenRequest {
  const { pool: pools, label: labels, source: sources, secret: secrets } = flags;
  const { maxPriority, maxCost: maxCostPerHour } = flags;
  const limits = { pools, labels, maxPriority, maxCostPerHour, sources, secrets };
  return { name, preset, scopes: scope, limits, expiresIn: expires };
}

function addList(tokens: Command, io: Io): void {
  tokens
    .command("list")
    .summary("list tokens")
    .description("Lists the tokens, without their secrets.")
    .option("--all", "also those that were revoked or expired in the last 90 days")
    .option("--json", "print JSON")
    .action(async ({ all, json }: { all?: boolean; json?: boolean }) => {
      const { client } = connect(io);
      const { items } = await client.tokens.list();
      const shown = all === true ? items : items.filter(({ state }) => state === "active");
      await io.stdout.write(json === true ? `${asJson(shown)}\n` : listView(shown, io));
    });
}

function listView(tokens: readonly Token[], io: Io): string {
  const headings = ["NAME", "ID", "STATE", "LAST USED", "EXPIRES", "CREATED BY", "MAY", "LIMITS"];
  const rows = tokens.map((token) => [
    nameIn(token.project, token.name, "/"),
    token.id,
    token.state,
    token.lastUsedOn ?? "never",
    token.expiresAt ?? "never",
    token.createdBy,
    token.scopes.join(" "),
    limitsText(token.limits),
  ]);
  const empty = "No tokens. Create one: drover tokens create --name me --preset operator";
  return listText(io, headings, rows, empty);
}

function addRotate(tokens: Command, io: Io): void {
  tokens
    .command("rotate")
    .summary("give a token another secret")
    .description("Gives a token another secret, and prints the token with it.")
    .argument("<token>", "its name or its id")
    .option("--overlap <duration>", "how long the old secret stays valid (default: 1h)", duration)
    .option("--json", "print JSON")
    .addHelpText("after", ROTATE_HELP)
    .action(async (token: string, { overlap, json }: { overlap?: string; json?: boolean }) => {
      const { client } = connect(io);
      await show(io, await client.tokens.rotate(await idOf(client, token), { overlap }), json);
    });
}

function addRevoke(tokens: Command, io: Io): void {
  tokens
    .command("revoke")
    .summary("end a token for good")
    .description(
      "Ends a token for good. It is refused everywhere within 30 s. Tokens and trust rules that it has " +
        "made, also indirectly, live on, and are named.",
    )
    .argument("<token>", "its name or its id")
    .option("--with-children", "end what it has made, too; also for a token that has been revoked before")
    .option("--json", "print JSON")
    .action(async (token: string, { withChildren, json }: { withChildren?: boolean; json?: boolean }) => {
      const { client } = connect(io);
      const id = await idOf(client, token, withChildren);
      const revoked = await client.tokens.revoke(id, { children: withChildren === true });
      if (json === true) await io.stdout.write(`${asJson(revoked)}\n`);
      else for (const line of revocationLines(revoked)) await io.say(line);
    });
}

function revocationLines({ id, name, children, childrenEnded }: RevokedToken): string[] {
  const made = [
    ...children.tokens.map((one) => `token ${one.name} (${one.id})`),
    ...children.trustRules.map((rule) => `trust rule ${rule}`),
  ].join(", ");
  const revoked = `the token ${name} is revoked`;
  if (made === "") return [revoked];
  if (childrenEnded) return [`${revoked}, and with it what it had made: ${made}`];
  const again = `\`drover tokens revoke ${id} --with-children\``;
  return [revoked, `what it has made lives on: ${made}`, `${again} ends that, too`];
}

/** The id of the token with this id, or of the valid one with this name. `ended`: else the latest with it. */
async function idOf(client: Client, token: string, ended = false): Promise<string> {
  const { items } = await client.tokens.list();
  const found =
    items.find(({ id }) => id === token) ??
    items.find(({ name, state }) => name === token && state === "active") ??
    (ended ? items.find(({ name }) => name === token) : undefined);
  if (found !== undefined) return found.id;
  throw new CliError(`There is no valid token called \`${token}\`.`, [
    "`drover tokens list --all` shows all tokens, those that have ended included.",
  ]);
}

/** Prints a new token: alone on stdout, so that a script can take it. */
async function show(io: Io, token: NewToken, json = false): Promise<void> {
  await io.stdout.write(json ? `${asJson(token)}\n` : `${token.token}\n`);
  if (!json && io.stdout.isTerminal) await io.say("nothing shows this token again: store it now");
}
