// What `drover pools create` does: asks, checks, and only then stores the credentials and the pool.
import { quoteArgv } from "../../src/shared/shell-words.ts";
import { connect } from "../context.ts";
import { CliError, EXIT } from "../errors.ts";
import { contentOf } from "../json-file.ts";
import { checkPool, type Report } from "../pool-check/checks.ts";
import { CREDENTIALS, type Finding, isFine, missing, ok, unknown } from "../pool-check/finding.ts";
import { reportJson, reportText } from "../pool-check/report.ts";
import { ruled } from "../pool-check/rules.ts";
import { isAtTerminal, type Person, personAtTerminal } from "../terminal/ask.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";
import { type Answers, checkAnswers, missingFlags } from "./answers.ts";
import { type Catalog, catalogOf, rootDeviceOf } from "./catalog.ts";
import { configurationOf } from "./configuration.ts";
import { completed } from "./dialogue.ts";
import { PRICE_LISTS } from "./price-lists.ts";
import { refuseExisting, secretFinding, store } from "./store.ts";

/** Creates a pool. Resolves with the exit code. Throws a `CliError` if it cannot begin. */
export async function poolCreate(io: Io, name: string, given: Answers, json: boolean): Promise<number> {
  checkAnswers(given);
  const flags = isAtTerminal() ? [] : missingFlags(given);
  if (flags.length > 0) throw lacking(name, flags);
  if (isAtTerminal() && given.credentials === "-") {
    throw new CliError("Credentials cannot be typed: they would be on the screen.", [
      "Send them by a pipe, with all answers as flags, or name a file.",
    ]);
  }
  const { client } = connect(io);
  await refuseExisting(client, name);
  const person = isAtTerminal() ? personAtTerminal("Nothing was stored.") : undefined;
  try {
    const answers = person === undefined ? given : await answersOf(io, given, person);
    checkAnswers(answers);
    const credentials = await credentialsOf(io, answers);
    const secret = answers.cloud === "none" ? undefined : (answers.secret ?? `${answers.cloud}-${name}`);
    const { config, report } = await checked(name, answers, credentials, secret);
    if (secret !== undefined) report.findings.push(await secretFinding(client, secret));
    if (!json) await io.stdout.write(reportText(report));
    const isWanted = isFine(report.findings) && (answers.yes || (await agrees(person, name)));
    if (isWanted) {
      const value = secret === undefined ? undefined : { name: secret, value: credentials };
      await store(client, { pool: name, config, secret: value });
    }
    if (json) await io.stdout.write(reportJson(report, { config, created: isWanted }));
    await io.say(isWanted ? createdText(name) : "Nothing was stored.");
    return isWanted ? 0 : EXIT.no;
  } finally {
    person?.leave();
  }
}

function lacking(name: string, flags: readonly string[]): CliError {
  return new CliError("There is no terminal to ask at, and some answers are missing.", [
    `Add: ${flags.join(" ")}`,
    `Or write a file: drover apply --name ${quoteArgv([name])} -f pool.json`,
  ]);
}

function createdText(name: string): string {
  return `Pool ${printable(name)} is created. Try it: drover run --pool ${quoteArgv([name])} -- uname -a`;
}

/** Asks the person for what the flags do not say. */
function answersOf(io: Io, given: Answers, person: Person): Promise<Answers> {
  return completed(given, {
    person,
    say: (line) => io.say(line),
    show: (text) => io.stderr.write(text),
    async faultOf(answers) {
      const read = await credentialsOf(io, answers).catch((error) => error);
      return read instanceof CliError ? read.message : undefined;
    },
    offers: async (answers) => (await catalogOf(answers, await credentialsOf(io, answers))).offers,
    columns: io.stderr.columns(),
  });
}

/** The text of the credentials. A `~` that no shell has seen means what it means to a shell. */
async function credentialsOf({ env }: Io, { cloud, credentials: file }: Answers): Promise<string> {
  if (cloud === "none" || file === undefined) return "";
  return contentOf(file.replace(/^~(?=\/)/, env.HOME ?? "~"));
}

/** The configuration, and what the checks find in it. */
async function checked(
  name: string,
  answers: Answers,
  credentials: string,
  secret = "",
): Promise<{ config: object; report: Report }> {
  const catalog = await catalogOf(answers, credentials);
  const rootDevice = await rootDeviceOf(answers, credentials);
  const config = configurationOf(answers, catalog.offers, secret, rootDevice);
  const report = await checkPool(name, ruled(name, config), credentials);
  report.findings.push(...ownFindings(answers, catalog, report.findings));
  return { config, report };
}

/** What is to be said of types that nobody knows, and of prices that are not the cloud's own. */
function ownFindings(
  { cloud, types }: Answers,
  { offers, isPriced }: Catalog,
  found: readonly Finding[],
): Finding[] {
  const isTaken = found.some(({ check, verdict }) => check === CREDENTIALS && verdict === "ok");
  if (cloud === undefined || cloud === "none" || !isTaken) return [];
  const sizes = types
    .filter(({ type }) => !offers.some((offer) => offer.type === type))
    .map(({ type }) => missing(`size ${type}`, "the cloud does not say what it has", TAKE_ANOTHER));
  if (isPriced || cloud === "hetzner")
    return [...sizes, ok("prices", "they are the cloud's own, without VAT")];
  const { at, page } = PRICE_LISTS[cloud];
  if (types.every(({ price }) => price !== undefined)) return [...sizes, ok("prices", "they are yours")];
  const evidence = `those of a list for ${at} in USD, which may have changed`;
  return [...sizes, unknown("prices", evidence, `Give yours with --type TYPE=PRICE: ${page}`)];
}

const TAKE_ANOTHER = "Take another --type, or write what it has into a file for `drover apply`";

/** Whether the person wants what was shown. Without one, `--yes` has said so. */
async function agrees(person: Person | undefined, name: string): Promise<boolean> {
  const question = `Store the credentials, and create the pool ${printable(name)}?`;
  return (await person?.choose(question, "ny")) === "y";
}
