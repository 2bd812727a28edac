// `drover secrets`: sets, lists and removes secrets.
import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import type { SecretList, SecretValue, StoredSecret } from "../../client/types.ts";
import { nameIn } from "../../src/shared/access/project.ts";
import { MAX_SECRET_BYTES } from "../../src/shared/limits.ts";
import { formatSize } from "../../src/shared/size.ts";
import { errorText } from "../../src/shared/words.ts";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { listText } from "../list.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, printable } from "../terminal/text.ts";

const SET_HELP = `
The value is what the file has, byte by byte, a line end at its end included. It cannot be
an argument: other users of this machine see those. Nothing shows it again.

Examples:
  printf %s "$TOKEN" | drover secrets set deploy-token -
  drover secrets set id_ed25519 --file ~/.ssh/id_ed25519
  drover run --secret TOKEN=deploy-token:env -- ./deploy.sh
  drover secrets set cloud --file cloud.key --use provider   # no run can name it`;

const LINE_FEED = 0x0a;

/** `drover secrets`: sets, lists and removes secrets. */
export function addSecrets(program: Command, io: Io): void {
  const secrets = program
    .command("secrets")
    .summary("set, list and remove secrets for runs and providers")
    .description(
      "Secrets are values that runs or the providers of pools get, and that nothing shows: passwords, keys.",
    );
  addSet(secrets, io);
  addList(secrets, io);
  addRemove(secrets, io);
}

interface SetFlags {
  file?: string;
  use?: NonNullable<SecretValue["use"]>;
  json?: boolean;
}

function addSet(secrets: Command, io: Io): void {
  secrets
    .command("set")
    .summary("store a secret, or another value for it")
    .description("Stores a secret, or another value for it. Attempts that start from now on get the value.")
    .argument("<name>", "its name: letters, digits, _ . and -")
    .argument("[-]", "read the value from standard input")
    .option("--file <path>", "read the value from a file")
    .addOption(
      new Option(
        "--use <use>",
        "who can name it: runs, or a pool for its provider (default: as before, or run)",
      ).choices(["run", "provider"]),
    )
    .option("--json", "print JSON")
    .addHelpText("after", SET_HELP)
    .action(async (name: string, from: string | undefined, flags: SetFlags) => {
      const { client } = connect(io);
      const value = await valueFrom(from, flags.file);
      if (value.at(-1) === LINE_FEED) {
        await io.say("the value ends with a line end, which stays; to leave it out: printf %s … |");
      }
      const { warnings, ...secret } = await client.secrets.set(name, { ...bodyOf(value), ...useOf(flags) });
      for (const warning of warnings) await io.say(warning);
      if (flags.json) await io.stdout.write(`${asJson({ ...secret, warnings })}\n`);
      else await io.say(storedText(secret));
    });
}

function storedText({ name, use, version }: Omit<StoredSecret, "warnings">): string {
  const whose = use === "provider" ? " for providers" : "";
  return `the secret ${printable(name)} is stored${whose}, version ${version}`;
}

async function valueFrom(from: string | undefined, file: string | undefined): Promise<Buffer> {
  if (from !== undefined && from !== "-") {
    throw new CliError("A value cannot be an argument: other users of this machine see it.", [
      "Send it to standard input: drover secrets set <name> -",
    ]);
  }
  if ((from === undefined) === (file === undefined)) {
    throw new CliError("Where is the value?", [
      "Write - to read it from standard input, or --file <path> to read it from a file.",
    ]);
  }
  const value = file === undefined ? await readAll(process.stdin) : await fileContent(file);
  if (value.length === 0) throw new CliError("The value is empty.", ["Send at least one byte."]);
  if (value.length <= MAX_SECRET_BYTES) return value;
  const [has, limit] = [formatSize(value.length), formatSize(MAX_SECRET_BYTES)];
  throw new CliError(`The value is too large: ${has}, and the limit is ${limit}.`, [
    "Store it encrypted in a snapshot, and only its key as a secret.",
  ]);
}

/** Reads as much as can be a value, and a little more, so that what is too large is seen. */
async function readAll(input: NodeJS.ReadableStream): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of input) {
    const read = Buffer.from(part);
    parts.push(read);
    bytes += read.length;
    if (bytes > MAX_SECRET_BYTES) break;
  }
  return Buffer.concat(parts);
}

async function fileContent(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new CliError(`${printable(file)} cannot be read: ${errorText(error)}.`, ["Name another file."]);
  }
}

function useOf({ use }: SetFlags): Pick<SecretValue, "use"> {
  return use === undefined ? {} : { use };
}

/** Text is sent as text, so that a person who looks at the request can read it; other bytes as base64. */
function bodyOf(value: Buffer): SecretValue {
  const text = value.toString("utf8");
  return Buffer.from(text, "utf8").equals(value) ? { value: text } : { base64: value.toString("base64") };
}

function addList(secrets: Command, io: Io): void {
  secrets
    .command("list")
    .summary("list secrets")
    .description("Lists the secrets, without their values, and what to know about the wrapping keys.")
    .option("--json", "print JSON")
    .action(async ({ json }: { json?: boolean }) => {
      const { client } = connect(io);
      const { items, wrappingKeys } = await client.secrets.list();
      await io.stdout.write(json === true ? `${asJson(items)}\n` : listView(items, io));
      const there = wrappingKeys.filter(({ state }) => state !== "missing");
      const newest = Math.max(...there.map(({ number }) => number));
      for (const { number, state } of wrappingKeys) {
        if (state === "in_use" && number < newest) {
          await io.say(`DROVER_KEK_${number} is still in use: keep it until it is unused, in some minutes`);
        }
        if (state === "unused") await io.say(`DROVER_KEK_${number} is unused: it can be deleted`);
        if (state === "missing")
          await io.say(`DROVER_KEK_${number} is missing: something that it has encrypted needs it`);
      }
    });
}

function listView(items: SecretList["items"], io: Io): string {
  const headings = ["NAME", "USE", "VERSION", "CHANGED", "CHANGED BY", "LAST HANDED OUT"];
  const rows = items.map(({ name, project, use, version, changedAt, changedBy, lastHandedOn }) => [
    nameIn(project, name, "/"),
    use,
    String(version),
    changedAt,
    changedBy,
    lastHandedOn ?? "never",
  ]);
  return listText(io, headings, rows, "No secrets. Store one: printf %s … | drover secrets set <name> -");
}

function addRemove(secrets: Command, io: Io): void {
  secrets
    .command("rm")
    .summary("remove a secret for good")
    .description("Removes a secret for good. An attempt that names it and has not started fails to start.")
    .argument("<name>", "its name")
    .action(async (name: string) => {
      const { client } = connect(io);
      await client.secrets.remove(name);
      await io.say(`the secret ${printable(name)} is removed`);
    });
}
