import type { Command } from "commander";
import { connect } from "../context.ts";
import { positiveDuration } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { asJson } from "../terminal/text.ts";

interface EnrollFlags {
  pool?: string;
  ttl?: string;
  json?: boolean;
}

const HELP = `
Paste the line that it prints into a shell of the machine: as root for a service of the whole machine, or as
any user. The machine needs Linux and Node 20 or newer. Whoever has the line can use it, once: as an argument
of a command (ssh big-box "$(drover enroll)") every user of both machines could read it.

Examples:
  drover enroll
  drover enroll --pool build --ttl 10m
  drover enroll | ssh big-box sh`;

/** `drover enroll`: a self-hosted machine may join. */
export function addEnroll(program: Command, io: Io): void {
  program
    .command("enroll")
    .summary("let a machine of your own join")
    .description("Prints the line by which a machine of your own becomes one of Drover's.")
    .option("--pool <name>", "the pool that it serves (default: the one called default)")
    .option("--ttl <duration>", "for how long the line can be used (default: 1h)", positiveDuration)
    .option("--json", "print JSON: the line, its code, and what the machine will be called")
    .addHelpText("after", HELP)
    .action(async ({ pool, ttl, json }: EnrollFlags) => {
      const { client } = connect(io);
      const request = { ...(pool === undefined ? {} : { pool }), ...(ttl === undefined ? {} : { ttl }) };
      const enrollment = await client.enrollments.create(request);
      if (json) {
        await io.stdout.write(`${asJson(enrollment)}\n`);
        return;
      }
      await io.stdout.write(`${enrollment.command}\n`);
      if (io.stdout.isTerminal) {
        await io.say(
          `paste it on the machine, which becomes ${enrollment.worker}; until ${enrollment.expiresAt}`,
        );
      }
    });
}
