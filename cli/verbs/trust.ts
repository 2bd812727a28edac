// `drover trust`: which tokens of other issuers are good here, and for what.
import type { Command } from "commander";
import type { TrustRule, TrustRuleRequest } from "../../client/types.ts";
import {
  GRANTABLE_SCOPES,
  type GrantableScope,
  PRESET_NAMES,
  type Preset,
} from "../../src/shared/access/scopes.ts";
import { connect } from "../context.ts";
import { listText } from "../list.ts";
import { pair, positiveDuration, several, wholeNumber, word, words } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { asJson } from "../terminal/text.ts";

/** Short names of issuers. */
const ISSUERS: Record<string, string> = {
  github: "https://token.actions.githubusercontent.com",
  gitlab: "https://gitlab.com",
  buildkite: "https://agent.buildkite.com",
};

const SET_HELP = `
A job with such a token sends it to /v1/oidc/exchange, and gets a token of this Drover for some
minutes. Its runs get labels from its claims (GitHub: gh.repo, gh.sha, gh.run), and it sees no others.

Examples:
  drover trust set ci --issuer github --claim repository_id=1296269 --preset submitter
  drover trust set deploy --issuer github --claim repository_id=1296269 --claim ref=refs/heads/main \\
    --claim environment=production --no-labels --preset operator
  drover trust set builds --issuer gitlab --claim project_id=42 --preset submitter --lifetime 1h`;

interface SetFlags {
  issuer: string;
  claim: Record<string, string>;
  audience?: string;
  preset?: Preset;
  scope?: GrantableScope[];
  pool?: string[];
  maxPriority?: number;
  source?: string[];
  label?: Record<string, string>;
  /** `false` with `--no-labels`. */
  labels: boolean;
  lifetime?: string;
  json?: boolean;
}

/** `drover trust`: sets, lists and removes trust rules. */
export function addTrust(program: Command, io: Io): void {
  const trust = program
    .command("trust")
    .summary("let jobs of GitHub, GitLab, Buildkite… in without a stored token")
    .description("Trust rules say which tokens of other issuers can be exchanged for tokens of this Drover.");
  addSet(trust, io);
  addList(trust, io);
  addRm(trust, io);
}

function addSet(trust: Command, io: Io): void {
  trust
    .command("set")
    .summary("create a trust rule, or replace it")
    .description("Creates the trust rule with this name, or replaces it.")
    .argument("<name>", "the name of the rule; events name it")
    .requiredOption("--issuer <url>", `whose tokens: a URL, or ${Object.keys(ISSUERS).join(", ")}`)
    .requiredOption(
      "--claim <name=pattern>",
      "a claim that a token must have; * stands for any characters (repeatable)",
      pair,
    )
    .option("--audience <text>", "for whom a token must be (default: the URL of this Drover)")
    .option("--preset <preset>", `a bundle of scopes: ${PRESET_NAMES.join(", ")}`, word(PRESET_NAMES))
    .option(
      "--scope <scope>",
      `what its tokens may do (repeatable): ${GRANTABLE_SCOPES.join(", ")}`,
      words(GRANTABLE_SCOPES),
    )
    .option("--pool <name>", "only this pool exists for its tokens (repeatable)", several)
    .option("--max-priority <n>", "the highest priority of their runs", wholeNumber(1, 100))
    .option("--source <network>", "accept its tokens only from this network (repeatable)", several)
    .option("--label <label=claim>", "their runs get this label from that claim (repeatable)", pair)
    .option("--no-labels", "their runs get no labels from claims, and they see all runs")
    .option("--lifetime <duration>", "how long its tokens are valid (default: 15m)", positiveDuration)
    .option("--json", "print JSON")
    .addHelpText("after", SET_HELP)
    .action(async (name: string, flags: SetFlags) => {
      const { client } = connect(io);
      const rule = await client.trust.put(name, requestOf(flags));
      if (flags.json === true) await io.stdout.write(`${asJson(rule)}\n`);
      else await io.say(`tokens of ${rule.issuer} for ${rule.audience} are trusted by the rule ${rule.name}`);
    });
}

function requestOf({ issuer, claim, preset, scope, pool, source, ...flags }: SetFlags): TrustRuleRequest {
  const { audience, lifetime, maxPriority, label, labels } = flags;
  return {
    issuer: Object.hasOwn(ISSUERS, issuer) ? (ISSUERS[issuer] ?? issuer) : issuer,
    claims: claim,
    audience,
    preset,
    scopes: scope,
    limits: { pools: pool, maxPriority, sources: source },
    labels: labels ? label : {},
    lifetime,
  };
}

function addList(trust: Command, io: Io): void {
  trust
    .command("list")
    .summary("list trust rules")
    .description("Lists the trust rules.")
    .option("--json", "print JSON")
    .action(async ({ json }: { json?: boolean }) => {
      const { client } = connect(io);
      const { items } = await client.trust.list();
      await io.stdout.write(json === true ? `${asJson(items)}\n` : listView(items, io));
    });
}

function listView(rules: readonly TrustRule[], io: Io): string {
  const headings = ["NAME", "ISSUER", "AUDIENCE", "CLAIMS", "MAY", "LABELS", "LIFETIME", "CREATED BY"];
  const pairs = (map: Record<string, string>) =>
    Object.entries(map)
      .map(([name, value]) => `${name}=${value}`)
      .join(" ");
  const rows = rules.map((rule) => [
    rule.name,
    rule.issuer,
    rule.audience,
    pairs(rule.claims),
    rule.scopes.join(" "),
    pairs(rule.labels),
    rule.lifetime,
    rule.createdBy,
  ]);
  const empty = "No trust rules. `drover trust set --help` shows how to make one.";
  return listText(io, headings, rows, empty);
}

function addRm(trust: Command, io: Io): void {
  trust
    .command("rm")
    .summary("remove a trust rule, and end its tokens")
    .description("Removes a trust rule. The tokens that it gave are refused everywhere within 30 s.")
    .argument("<name>", "the name of the rule")
    .action(async (name: string) => {
      const { client } = connect(io);
      await client.trust.delete(name);
      await io.say(`the trust rule ${name} is removed`);
    });
}
