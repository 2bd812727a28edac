// How do flags say which runs share the slots of a concurrency key (pool.md#concurrency-keys)?
import { type Command, InvalidArgumentError, Option } from "commander";
import type { RunSpec } from "../../../client/types.ts";
import {
  CONCURRENCY_STRATEGIES,
  MAX_CONCURRENCY_KEY_CHARS,
  MAX_CONCURRENCY_LIMIT,
  MAX_CONCURRENCY_QUEUE,
} from "../../../src/shared/limits.ts";
import { CliError } from "../../errors.ts";
import { wholeNumber } from "../../options.ts";

type Concurrency = NonNullable<RunSpec["concurrency"]>;

/** The flags of a concurrency key, as parsed. */
export interface ConcurrencyFlags {
  concurrency?: Pick<Concurrency, "key" | "limit">;
  concurrencyStrategy?: Concurrency["strategy"];
  queueMax?: number;
}

/** The field that each flag sets, for errors from the server. */
export const CONCURRENCY_FIELDS: [prefix: string, name: string, flag: keyof ConcurrencyFlags][] = [
  ["/concurrency/strategy", "--concurrency-strategy", "concurrencyStrategy"],
  ["/concurrency/queueMax", "--queue-max", "queueMax"],
  ["/concurrency", "--concurrency", "concurrency"],
];

/** Adds the flags to a verb. */
export function addConcurrency(verb: Command): void {
  verb
    .option(
      "--concurrency <key[=limit]>",
      "run at most this many runs with this key at once (default: 1)",
      concurrencyKey,
    )
    .addOption(
      new Option(
        "--concurrency-strategy <name>",
        "with --concurrency: what becomes of a run too many (default: queue)",
      ).choices([...CONCURRENCY_STRATEGIES]),
    )
    .option(
      "--queue-max <number>",
      "with --concurrency: refuse it if so many wait already",
      wholeNumber(0, MAX_CONCURRENCY_QUEUE),
    );
}

/** `KEY`, or `KEY=LIMIT`: what follows the last `=` is the limit if it is a number. */
export function concurrencyKey(text: string): Pick<Concurrency, "key" | "limit"> {
  const [, named, number] = /^(.*)=(\d+)$/s.exec(text) ?? [];
  const key = named ?? text;
  if (key === "" || key.length > MAX_CONCURRENCY_KEY_CHARS) {
    throw new InvalidArgumentError(
      `It must be a key of 1 to ${MAX_CONCURRENCY_KEY_CHARS} characters, such as deploy, or a key and a ` +
        "limit, such as deploy=2.",
    );
  }
  return number === undefined ? { key } : { key, limit: wholeNumber(1, MAX_CONCURRENCY_LIMIT)(number) };
}

/**
 * The field of the submission: what the flags say, over what the file says. Undefined: neither says anything.
 * Throws a `CliError` for a flag about a key that is not there.
 */
export function concurrencyFrom(
  { concurrency, concurrencyStrategy: strategy, queueMax }: ConcurrencyFlags,
  inFile?: RunSpec["concurrency"],
): RunSpec["concurrency"] {
  const more = { ...(strategy && { strategy }), ...(queueMax === undefined ? {} : { queueMax }) };
  if (concurrency === undefined && Object.keys(more).length === 0) return inFile;
  const key = concurrency?.key ?? inFile?.key;
  if (key === undefined) {
    const flag = strategy === undefined ? "--queue-max" : "--concurrency-strategy";
    throw new CliError(`${flag} is about the runs with a concurrency key, and this run has none.`, [
      "Name the key: --concurrency deploy",
    ]);
  }
  return { ...inFile, ...concurrency, key, ...more };
}

/** The concurrency key of a run, how many runs with it run at once, and its strategy; empty: it has none. */
export function concurrencyText({ concurrency }: Pick<RunSpec, "concurrency">): string {
  if (concurrency === undefined) return "";
  const { key, limit = 1, strategy = "queue", queueMax } = concurrency;
  const waiting = queueMax === undefined ? "" : `, ${queueMax} may wait`;
  return `${key} (${limit} at once, ${strategy}${waiting})`;
}
