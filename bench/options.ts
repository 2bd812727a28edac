// What is `npm run bench` to measure, and how much of it?
import { parseArgs } from "node:util";

/** The figures, by the names for `--only`. */
export const FIGURES = {
  planning: "a plan of a full pool",
  startup: "`drover up`, the first run from nothing, `drover ps`",
  snapshots: "packing, unpacking and uploading, beside tar",
  containers: "commands in containers (needs podman)",
  memory: "an idle agent",
  latency: "one run after the other: acknowledged, started, ended",
  keys: "a key typed in `drover exec`",
  users: "many users, each with one run after the other",
  logs: "one stream and eight, beside the bucket and a socket",
  batches: "runs that come at once, beside the floors (and --peers)",
  pools: "one, four and eight pools, with hosts that start nothing",
  hosts: "idle hosts on one pool",
} as const;

export type Figure = keyof typeof FIGURES;

/** How often each thing is measured, or how much of it: an option for each. */
const FULL = {
  runs: 300,
  keys: 300,
  users: 16,
  trivial: 500,
  hosts: 1_000,
  light: 1_000,
  mb: 256,
  rounds: 3,
  containers: 30,
};
const QUICK: Amounts = {
  runs: 50,
  keys: 30,
  users: 16,
  trivial: 100,
  hosts: 50,
  light: 100,
  mb: 32,
  rounds: 2,
  containers: 10,
};
const AMOUNTS: Record<keyof Amounts, string> = {
  runs: "runs one after the other, for `latency`",
  keys: "keys that are typed, for `keys`",
  users: "users at once, for `users`",
  trivial: "runs of these users together",
  hosts: "idle hosts, for `hosts`",
  light: "runs that start nothing, for `pools`",
  mb: "MB of output, for `logs`",
  rounds: "times that each figure is measured whose spread is shown",
  containers: "commands, for `containers`",
};
const SIZES = { full: [100, 500, 1_000, 5_000], quick: [100, 500] };

export type Amounts = typeof FULL;

export interface BenchOptions {
  help: boolean;
  peers: boolean;
  quick: boolean;
  json: boolean;
  /** A folder on a disk, in which a second Drover has its state. */
  disk: string | undefined;
  /** How many runs a batch has, for each figure of `batches`. */
  sizes: readonly number[];
  amounts: Amounts;
  wants(figure: Figure): boolean;
}

export const HELP = `Measures what users wait for, and the floors of this machine. Asserts nothing.

  npm run bench                          everything, with the state in memory
  npm run bench -- --quick               a look: less of everything
  npm run bench -- --only batches --peers --sizes 1000 --rounds 5

  --peers       the same batches on other queues, too; says how to install what is missing
  --disk DIR    batches: a Drover with its state below DIR, too; snapshots: there, and not in memory
  --json        print data, and not a table
  --sizes N,…   runs in a batch (default ${SIZES.full.join(",")})
  --only NAME,… some of the figures:
${Object.entries(FIGURES)
  .map(([name, what]) => `                  ${name.padEnd(11)} ${what}`)
  .join("\n")}

How much of each, if not as by default:
${Object.entries(AMOUNTS)
  .map(([name, what]) => {
    const { [name as keyof Amounts]: usual } = FULL; // its own keys
    return `  --${name.padEnd(11)} ${what} (default ${usual})`;
  })
  .join("\n")}`;

/** The options of a command line. Throws an error that says what is wrong with it. */
export function benchOptions(args: string[]): BenchOptions {
  const [flag, text] = [{ type: "boolean", default: false } as const, { type: "string" } as const];
  const numbers = Object.keys(FULL) as (keyof Amounts)[]; // its own keys
  const { values } = parseArgs({
    args,
    options: {
      ...{ help: flag, peers: flag, quick: flag, json: flag, disk: text, sizes: text, only: text },
      ...Object.fromEntries(numbers.map((name) => [name, text])),
    },
  });
  const { help, peers, quick, json, disk, sizes, only } = values;
  const chosen = help || only === undefined ? Object.keys(FIGURES) : only.split(",");
  for (const name of chosen)
    if (!Object.hasOwn(FIGURES, name))
      throw new Error(`--only has no figure "${name}": choose from ${Object.keys(FIGURES).join(", ")}`);
  const given: Record<string, unknown> = values;
  const defaults = quick ? QUICK : FULL;
  const amounts = Object.fromEntries(
    numbers.map((name) => [name, countOf(name, given[name] ?? defaults[name])]),
  ) as Amounts; // a number for each of its keys
  return {
    ...{ help, peers, quick, json, disk, amounts },
    sizes: sizes?.split(",").map((one) => countOf("sizes", one)) ?? (quick ? SIZES.quick : SIZES.full),
    wants: (figure) => chosen.includes(figure),
  };
}

/** A whole number above zero. Throws an error that names the option. */
export function countOf(name: string, value: unknown): number {
  const count = Number(value);
  if (Number.isInteger(count) && count > 0) return count;
  throw new Error(`--${name} must be a whole number above zero, and not "${value}"`);
}

/** What a program of `npm run` was asked for. Prints the help, or what is wrong, and exits then. */
export function optionsOrExit<Options extends { help: boolean }>(
  program: string,
  help: string,
  read: (args: string[]) => Options,
): Options {
  try {
    const options = read(process.argv.slice(2));
    if (!options.help) return options;
    console.log(help);
    return process.exit(0);
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    console.error(`${program}: ${why}; see npm run ${program} -- --help`);
    return process.exit(2);
  }
}
