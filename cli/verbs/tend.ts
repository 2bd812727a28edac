import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import type { WorkerStatus } from "../../client/types.ts";
import { because } from "../../src/shared/words.ts";
import { connect } from "../context.ts";
import { forEachOf } from "../each.ts";
import { EXIT } from "../errors.ts";
import { warnOf } from "../left-behind.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";

/** One way to tend machines by hand (workers.md#idle-behaviors). */
interface Tending {
  verb: "hold" | "drain" | "resume" | "kill";
  summary: string;
  description: string;
  /** What it means for a machine that was not on its way out. */
  done: string;
  /** Whether it asks for the machine's end: then one that ends anyway is as it should be. */
  toTheEnd: boolean;
}

const TENDINGS: readonly Tending[] = [
  {
    verb: "hold",
    summary: "keep machines, and give them nothing new",
    description:
      "Keeps machines, to look into them for instance: they get no new runs, and neither idle time " +
      "nor silence ends them. What runs on them goes on.",
    done: "is held: it takes no new runs, and stays",
    toTheEnd: false,
  },
  {
    verb: "drain",
    summary: "let machines finish their runs, then end them",
    description: "Gives machines no new runs, and ends each when its last run has ended.",
    done: "is draining: it takes no new runs, and stops when its last has ended",
    toTheEnd: true,
  },
  {
    verb: "resume",
    summary: "undo hold or drain",
    description: "Lets machines take runs again, and stop when they have been idle.",
    done: "takes runs again",
    toTheEnd: false,
  },
  {
    verb: "kill",
    summary: "end machines now, with all that runs on them",
    description:
      "Ends machines now, whatever runs on them, held or not. Their runs are lost with them: " +
      "each ends as its reschedule policy says.",
    done: "is being destroyed",
    toTheEnd: true,
  },
];

/** `drover hold`, `drain`, `resume` and `kill`: machines tended by hand. */
export function addTending(program: Command, io: Io, exitWith: (code: number) => void): void {
  for (const tending of TENDINGS) {
    const { verb, summary, description } = tending;
    const command = program
      .command(verb)
      .summary(summary)
      .description(description)
      .argument("<worker...>", "the ids of the machines, as `drover workers` shows them")
      .addHelpText("after", `\nThe exit code is ${EXIT.drover} if any of them could not be had so.`);
    if (verb === "kill") {
      command.option("--reason <text>", "why; it is kept with the machine");
      command.option("--force", "also if its provider does not answer: the machine may be left behind there");
    }
    command.action(async (ids: string[], flags: KillFlags) => {
      const { client } = connect(io);
      const wentWell = await forEachOf(io, ids, async (id) =>
        told(io, tending, await tend(client, tending, id, flags)),
      );
      if (!wentWell) exitWith(EXIT.drover);
    });
  }
}

interface KillFlags {
  reason?: string;
  force?: boolean;
}

function tend(client: Client, { verb }: Tending, id: string, flags: KillFlags): Promise<WorkerStatus> {
  return verb === "kill" ? client.workers.kill(id, flags) : client.workers[verb](id);
}

/** Says what became of it, and returns whether that is what was asked for: what ends is not saved. */
async function told(io: Io, { verb, done, toTheEnd }: Tending, worker: WorkerStatus): Promise<boolean> {
  const { id, state, reason, leftBehind } = worker;
  if (leftBehind !== undefined) await warnOf(io, [leftBehind]);
  const why = printable(reason);
  if (state !== "shutdown" && state !== "gone") {
    await io.stdout.write(`${id} ${done}\n`);
    return true;
  }
  const ends = state === "gone" ? "is gone" : `is being ${worker.own ? "let go" : "destroyed"}`;
  if (toTheEnd) await io.stdout.write(`${because(`${id} ${ends}`, why)}\n`);
  else await io.say(because(`${id} ${ends}, and \`drover ${verb}\` does not save it`, why));
  return toTheEnd;
}
