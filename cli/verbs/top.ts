// `drover top`: shows what a pool does, in place.
import { type Command, InvalidArgumentError } from "commander";
import { durationMs } from "../../src/shared/duration.ts";
import { connect } from "../context.ts";
import { positiveDuration } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { printOnce, showInPlace } from "../top/command.ts";

interface TopFlags {
  pool: string;
  interval: string;
  once?: boolean;
}

/** A shorter pause would show nothing more, and each refresh is a request. */
const SHORTEST_INTERVAL_MS = 1_000;
/** A timer cannot wait for more than some weeks. */
const LONGEST_INTERVAL_MS = 86_400_000;

const HELP = `
Keys:
  q           quit, as Ctrl-C does
  j, k        choose the next or the previous run or worker, as the arrows do
  Enter       show why it is in its state, and what happens next; Enter or Esc goes back
  p           show another pool

Each refresh is one request, and up to three when something has changed.
Without a terminal, one picture is printed, with everything in it.

Examples:
  drover top
  drover top --pool gpu --interval 10s
  drover top --once | head -20`;

/** `drover top`: shows what a pool does, in place (cli.md#top). */
export function addTop(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("top")
    .summary("watch the queue, the runs and the machines of a pool")
    .description("Shows the queue, the runs and the machines of a pool, and what they cost, kept up to date.")
    .option("--pool <name>", "which pool (default: the one called default)", "default")
    .option("--interval <duration>", "the pause between two refreshes (default: 2s)", interval, "2s")
    .option("--once", "print one picture, and end")
    .addHelpText("after", HELP)
    .action(async ({ pool, interval: pause, once }: TopFlags) => {
      const { client } = connect(io);
      const isShown = io.stdout.isTerminal && io.env.TERM !== "dumb";
      if (once === true || !isShown) return printOnce(io, client, pool);
      exitWith(await showInPlace(io, client, { pool, intervalMs: durationMs(pause) }));
    });
}

function interval(text: string): string {
  const ms = durationMs(positiveDuration(text));
  if (ms >= SHORTEST_INTERVAL_MS && ms <= LONGEST_INTERVAL_MS) return text;
  throw new InvalidArgumentError("It must be from 1s to 1d: each refresh is a request.");
}
