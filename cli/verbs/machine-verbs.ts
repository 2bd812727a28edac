// `drover hold`, `drain`, `resume` and `kill`: how a person controls single machines.
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import type { WorkerStatus } from "../../client/types.ts";
import { because } from "../../src/shared/words.ts";
import { connect } from "../context.ts";
import { forEachOf } from "../each.ts";
import { EXIT } from "../errors.ts";
import { warnOfLeftBehind } from "../left-behind.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";

/** A verb that changes what a machine does next (workers.md#idle-behaviors). */
interface MachineVerb {
  verb: "hold" | "drain" | "resume" | "kill";
  summary: string;
  description: string;
  /** What is printed if the machine was not already ending. */
  done: string;
  /** Whether the verb ends the machine. Such a verb also succeeds if the machine is already ending. */
  endsMachine: boolean;
}

const MACHINE_VERBS: readonly MachineVerb[] = [
  {
    verb: "hold",
    summary: "keep machines, but give them no new runs",
    description:
      "Keeps machines, for example to debug them: they get no new runs, and neither idle time " +
      "nor silence ends them. Their running runs go on.",
    done: "is held: it takes no new runs, and stays",
    endsMachine: false,
  },
  {
    verb: "drain",
    summary: "let machines finish their runs, then end them",
    description: "Gives machines no new runs, and ends each when its last run has ended.",
    done: "is draining: it takes no new runs, and stops when its last run has ended",
    endsMachine: true,
  },
  {
    verb: "resume",
    summary: "undo hold or drain",
    description: "Lets machines take runs again, and end once they are idle for long enough.",
    done: "takes runs again",
    endsMachine: false,
  },
  {
    verb: "kill",
    summary: "end machines now, with everything that runs on them",
    description:
      "Ends machines now, even if they are held, with everything that runs on them. Their runs " +
      "are lost: the reschedule policy of each run decides what happens to it.",
    done: "is being destroyed",
    endsMachine: true,
  },
];

/** `drover hold`, `drain`, `resume` and `kill`: change what machines do next. */
export function addMachineVerbs(program: Command, io: Io, exitWith: (code: number) => void): void {
  for (const machineVerb of MACHINE_VERBS) {
    const { verb, summary, description } = machineVerb;
    const command = program
      .command(verb)
      .summary(summary)
      .description(description)
      .argument("<worker...>", "the ids of the machines, as `drover workers` shows them")
      .addHelpText("after", `\nThe exit code is ${EXIT.drover} if it failed for any of them.`);
    if (verb === "kill") {
      command.option("--reason <text>", "the reason, kept with the machine");
      command.option("--force", "even if the provider does not answer; the machine may be left behind there");
    }
    command.action(async (ids: string[], flags: KillFlags) => {
      const { client } = connect(io);
      const wentWell = await forEachOf(io, ids, async (id) =>
        printOutcome(io, machineVerb, await call(client, machineVerb, id, flags)),
      );
      if (!wentWell) exitWith(EXIT.drover);
    });
  }
}

interface KillFlags {
  reason?: string;
  force?: boolean;
}

function call(client: Client, { verb }: MachineVerb, id: string, flags: KillFlags): Promise<WorkerStatus> {
  return verb === "kill" ? client.workers.kill(id, flags) : client.workers[verb](id);
}

/** Prints the outcome, and returns whether the verb succeeded. No verb can save a machine that is ending. */
async function printOutcome(
  io: Io,
  { verb, done, endsMachine }: MachineVerb,
  worker: WorkerStatus,
): Promise<boolean> {
  const { id, state, reason, leftBehind } = worker;
  if (leftBehind !== undefined) await warnOfLeftBehind(io, [leftBehind]);
  const why = printable(reason);
  if (state !== "shutdown" && state !== "gone") {
    await io.stdout.write(`${id} ${done}\n`);
    return true;
  }
  const ends = state === "gone" ? "is gone" : `is being ${worker.own ? "let go" : "destroyed"}`;
  if (endsMachine) await io.stdout.write(`${because(`${id} ${ends}`, why)}\n`);
  else await io.say(because(`${id} ${ends}, and \`drover ${verb}\` cannot save it`, why));
  return endsMachine;
}
