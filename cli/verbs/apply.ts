import type { Command } from "commander";
import type { PoolConfig } from "../../client/types.ts";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { readJsonObject } from "../json-file.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";

interface ApplyFlags {
  file: string;
  name?: string;
}

const HELP = `
The file is the configuration of the pool as \`PUT /v1/pools/{name}\` takes it,
in JSON, and may have its name in it, too. The pool becomes what the file says:
what the file does not say has its default. The provider's secret may be left out
if the pool exists and its provider has the same URL: then it stays. A \`-\` reads
standard input, so that a new secret need not lie in a file.

Examples:
  drover apply -f pool.json
  drover apply -f pool.json --name nightly
  drover pools nightly --json | jq .config | drover apply --name nightly -f -
  jq --arg secret "$SECRET" '.provider.secret = $secret' pool.json | drover apply -f -`;

/** `drover apply`: a pool becomes what a file says. What is wrong in it the server says, field by field. */
export function addApply(program: Command, io: Io): void {
  program
    .command("apply")
    .summary("create or change a pool")
    .description("Creates a pool, or changes it into what a file says.")
    .requiredOption("-f, --file <path>", "the file, or - for standard input")
    .option("--name <pool>", "the name of the pool (default: `name` in the file)")
    .addHelpText("after", HELP)
    .action(async ({ file, name }: ApplyFlags) => {
      const pool = named(await readJsonObject(file, "the configuration of a pool"), file, name);
      const { client } = connect(io);
      const view = await client.pools.put(pool.name, pool.config);
      await io.stdout.write(`Pool ${printable(view.name)} is as the file says\n`);
    });
}

function named(content: object, file: string, flag?: string): { name: string; config: PoolConfig } {
  const { name: inside, ...config }: { name?: unknown } = content;
  const name = flag ?? inside;
  if (typeof name !== "string" || name === "") {
    throw new CliError("Which pool?", [`Give it by --name, or as \`name\` in ${file}.`]);
  }
  if (inside !== undefined && inside !== name) {
    throw new CliError(`${file} is of pool ${printable(String(inside))}, and --name says ${name}.`, [
      "Leave one of them out, or make them equal.",
    ]);
  }
  // Whether it is one, the server says, and names each field that is wrong.
  return { name, config: config as PoolConfig };
}
