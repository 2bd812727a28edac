// `drover apply`: creates or changes a pool as a file describes it.
import type { Command } from "commander";
import type { PoolConfig } from "../../client/types.ts";
import { poolAdvice } from "../../src/shared/cloud/advice.ts";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { readJsonObject } from "../json-file.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";

const HELP = `
The file is JSON: the configuration that \`PUT /v1/pools/{name}\` takes, and
optionally the pool's \`name\`. It replaces the whole configuration: fields that it
omits get their defaults. Only the provider's secret is kept if it is omitted, as long
as the provider's URL stays the same. It is best the name of a secret, such as
{"secret": "cloud"} (see drover secrets): then no file has its text. A \`-\` reads
standard input.

Examples:
  drover apply -f pool.json
  drover apply -f pool.json --name nightly
  drover pools nightly --json | jq .config | drover apply --name nightly -f -
  jq --arg secret "$SECRET" '.provider.secret = $secret' pool.json | drover apply -f -`;

/** `drover apply`: creates or changes a pool. The server validates the file, field by field. */
export function addApply(program: Command, io: Io): void {
  program
    .command("apply")
    .summary("create or change a pool")
    .description("Creates a pool, or replaces its configuration with a file's.")
    .requiredOption("-f, --file <path>", "the file, or - for standard input")
    .option("--name <pool>", "the name of the pool (default: `name` in the file)")
    .addHelpText("after", HELP)
    .action(async ({ file, name }: { file: string; name?: string }) => {
      const pool = named(await readJsonObject(file, "the configuration of a pool"), file, name);
      const { client } = connect(io);
      const view = await client.pools.put(pool.name, pool.config);
      await io.stdout.write(`Pool ${printable(view.name)} is as the file says\n`);
      for (const advice of poolAdvice(view.config)) await io.say(advice);
    });
}

function named(content: object, file: string, flag?: string): { name: string; config: PoolConfig } {
  const { name: inside, ...config }: { name?: unknown } = content;
  const name = flag ?? inside;
  if (typeof name !== "string" || name === "") {
    throw new CliError("Which pool?", [`Name it with --name, or as \`name\` in ${file}.`]);
  }
  if (inside !== undefined && inside !== name) {
    throw new CliError(`${file} is for pool ${printable(String(inside))}, but --name says ${name}.`, [
      "Leave one of them out, or make them agree.",
    ]);
  }
  // The server validates the configuration, and names each wrong field.
  return { name, config: config as PoolConfig };
}
