// Which flags of `drover run` say for which failures it is tried again, and with what?
import { type Command, InvalidArgumentError } from "commander";
import type { RunSpec } from "../../../client/types.ts";
import { MAX_RETRIES } from "../../../src/shared/limits.ts";
import { RETRY_CAUSES, type RetryCause } from "../../../src/shared/retry/causes.ts";
import { CliError } from "../../errors.ts";
import { duration, wholeNumber, word } from "../../options.ts";

/** The flags that say when a run is tried again, as parsed. */
export interface RetryFlags {
  retry?: RetryCause[];
  retryMax?: number;
  retryBackoff?: string;
  retryMemory?: number;
  retryOnDemand?: boolean;
  park?: boolean;
}

/** The flag of each field, for errors from the server. */
export const RETRY_FIELDS: [prefix: string, name: string, flag: keyof RetryFlags][] = [
  ["/retry/escalate/oom", "--retry-memory", "retryMemory"],
  ["/retry/escalate/interrupted", "--retry-on-demand", "retryOnDemand"],
  ["/retry/backoff", "--retry-backoff", "retryBackoff"],
  ["/retry/max", "--retry-max", "retryMax"],
  ["/retry/on", "--retry", "retry"],
  ["/retry", "--retry", "retry"],
];

/** All of these flags. */
export const RETRY_FLAGS: readonly (keyof RetryFlags)[] = [
  "retry",
  "retryMax",
  "retryBackoff",
  "retryMemory",
  "retryOnDemand",
  "park",
];

/** Adds the flags to a verb. */
export function addRetryFlags(verb: Command): void {
  verb
    .option("--retry <cause,cause>", `try it again after these: ${RETRY_CAUSES.join(", ")}`, causes)
    .option(
      "--retry-max <number>",
      "with --retry: how many tries may follow the first (default: 3)",
      wholeNumber(1, MAX_RETRIES),
    )
    .option("--retry-backoff <duration>", "with --retry: the first wait; it doubles (default: 10s)", duration)
    .option("--retry-memory <factor>", "with --retry oom: so many times the memory, such as 2x", factor)
    .option("--retry-on-demand", "with --retry interrupted: then no machine that its cloud may take back")
    .option("--park", "park it if it fails for good, until drover redrive");
}

/** Causes with commas between them; the flag may be repeated. */
const causes = Object.assign(
  (text: string, before: RetryCause[] = []): RetryCause[] => [
    ...before,
    ...text.split(",").map((one) => word(RETRY_CAUSES)(one)),
  ],
  { allowed: [...RETRY_CAUSES] },
);

/** A factor, with or without its x. */
function factor(text: string): number {
  const value = /^\d{1,2}(\.\d{1,2})?x?$/.test(text) ? Number.parseFloat(text) : 0;
  if (value >= 1.1 && value <= 16) return value;
  throw new InvalidArgumentError("It must be a factor from 1.1x to 16x, such as 2x.");
}

/**
 * The retry policy: what the flags say, over what the file says. Undefined: neither says anything. Throws a
 * `CliError` if no cause is named.
 */
export function retryFrom(flags: RetryFlags, inFile?: RunSpec["retry"]): RunSpec["retry"] {
  const { retry, retryMax: max, retryBackoff, retryMemory, retryOnDemand, park } = flags;
  if (RETRY_FLAGS.every((flag) => flags[flag] === undefined)) return inFile;
  const on = retry ?? inFile?.on;
  if (on === undefined) {
    const needy = RETRY_FLAGS.find((flag) => flag !== "park" && flags[flag] !== undefined);
    if (needy === undefined) return { ...inFile, park: true };
    const name = needy.replace(/[A-Z]/g, (upper) => `-${upper.toLowerCase()}`);
    throw new CliError(`--${name} needs --retry.`, [
      "Name what it is tried again for, such as: --retry oom,machine_lost",
    ]);
  }
  const escalate = {
    ...(retryMemory === undefined ? {} : { oom: { memory: retryMemory } }),
    ...(retryOnDemand === true ? { interrupted: "on-demand" as const } : {}),
  };
  return {
    ...inFile,
    on,
    ...(max === undefined ? {} : { max }),
    ...(retryBackoff === undefined ? {} : { backoff: { ...inFile?.backoff, first: retryBackoff } }),
    ...(Object.keys(escalate).length === 0 ? {} : { escalate: { ...inFile?.escalate, ...escalate } }),
    ...(park === undefined ? {} : { park }),
  };
}
