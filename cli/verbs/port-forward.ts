// `drover port-forward`: makes a port of a run's machine a port of this one.
import { createServer, type Server } from "node:net";
import { type Command, InvalidArgumentError } from "commander";
import { ApiError } from "../../client/errors.ts";
import type { Forward } from "../../client/tunnels/forward.ts";
import { MAX_CHANNELS } from "../../src/shared/tunnel/frames.ts";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { meantRun, RUN_TEXT } from "../run/which-run.ts";
import { listenForInterrupts } from "../terminal/interrupts.ts";
import type { Io } from "../terminal/io.ts";

const HOST = "127.0.0.1";
const MAX_PORT = 65_535;
const TOO_MANY = `${MAX_CHANNELS} connections are open, which is the most, so one more was refused.`;

const HELP = `
Connections to the port here, on ${HOST} only, reach the port on the loopback address of the
machine, until Ctrl-C, or until the run ends. At most ${MAX_CHANNELS} connections are open at once.
With 0 as the port here, a free one is taken. The token needs the scope runs:exec.

Examples:
  drover port-forward web-3 8080
  drover port-forward web-3 8080:80`;

/** Which port here leads to which port there. */
interface Ports {
  here: number;
  there: number;
}

/** `drover port-forward`: forwards a local port to a port of a run's machine. */
export function addPortForward(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("port-forward")
    .summary("reach a port of a run's machine")
    .description("Makes a port of a run's machine a port of this one.")
    .argument("<run>", RUN_TEXT)
    .argument("<port>", "the port, here and there; or <here>:<there>", ports)
    .option("--task <name>", "the task with whose command this ends")
    .addHelpText("after", HELP)
    .action(async (text: string, { here, there }: Ports, { task }: { task?: string }) => {
      const { client } = connect(io);
      const server = createServer({ allowHalfOpen: true });
      let forward: Forward | undefined;
      server.on("connection", (connection) => {
        connection.on("error", () => undefined);
        if (forward?.connect(connection)) return;
        if (forward === undefined) connection.destroy();
        else void io.say(TOO_MANY);
      });
      const port = await listen(server, here);
      const run = await meantRun({ io, client, changes: true }, text);
      await io.say(`${HOST}:${port} leads to port ${there} of run ${run}. Ctrl-C ends this.`);
      const interrupts = listenForInterrupts();
      try {
        for (;;) {
          forward = client.runs.forward(run, { port: there, task });
          const ended = await Promise.race([interrupts.first, forward.ended.catch(lostWay)]);
          if (ended === undefined) continue;
          exitWith(ended.exitCode);
          return;
        }
      } finally {
        interrupts.release();
        server.close();
        forward?.close();
      }
    });
}

/** A way that was lost with the agent's process is opened again, for new connections. */
function lostWay(error: unknown): undefined {
  if (!(error instanceof ApiError && error.code === "tunnel_ended")) throw error;
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === "EADDRINUSE";
      const why = isTaken ? "another program listens there" : error.message;
      reject(
        new CliError(`Port ${port} of this machine cannot be used: ${why}.`, [
          "Choose another one, such as 0:80 for any that is free.",
        ]),
      );
    });
    server.listen(port, HOST, () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

function ports(text: string): Ports {
  const [, first = "", second = first] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(text) ?? [];
  const [here, there] = [Number(first), Number(second)];
  if (first !== "" && here <= MAX_PORT && there >= 1 && there <= MAX_PORT) return { here, there };
  throw new InvalidArgumentError("It must be a port, such as 8080, or two, such as 8080:80.");
}
