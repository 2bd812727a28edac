// `drover enroll`: prints the line with which a self-hosted machine joins a pool.
import type { Command } from "commander";
import { connect } from "../context.ts";
import { positiveDuration } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { asJson } from "../terminal/text.ts";

const HELP = `
Paste the line into a shell on the machine: as root for a system service, or as any user. The machine
needs Linux and Node 20 or newer. The line works once, for anyone who has it. Do not pass it as an argument
(ssh big-box "$(drover enroll)"): every user of both machines could read it.

Examples:
  drover enroll
  drover enroll --pool build --ttl 10m
  drover enroll | ssh big-box sh`;

/** `drover enroll`: lets a self-hosted machine join. */
export function addEnroll(program: Command, io: Io): void {
  program
    .command("enroll")
    .summary("let a self-hosted machine join")
    .description("Prints the shell line with which a self-hosted machine joins Drover.")
    .option("--pool <name>", "the pool that the machine serves (default: the one called default)")
    .option("--ttl <duration>", "how long the line is valid (default: 1h)", positiveDuration)
    .option("--json", "print JSON: the line, its code, and the worker id of the machine")
    .addHelpText("after", HELP)
    .action(async ({ json, ...request }: { pool?: string; ttl?: string; json?: boolean }) => {
      const enrollment = await connect(io).client.enrollments.create(request);
      if (json) {
        await io.stdout.write(`${asJson(enrollment)}\n`);
        return;
      }
      await io.stdout.write(`${enrollment.command}\n`);
      if (io.stdout.isTerminal) {
        await io.say(`paste it on the machine by ${enrollment.expiresAt}; it becomes ${enrollment.worker}`);
      }
    });
}
