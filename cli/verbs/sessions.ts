// `drover sessions`: lists and ends the sessions of browsers.
import type { Command } from "commander";
import { connect } from "../context.ts";
import { listText } from "../list.ts";
import type { Io } from "../terminal/io.ts";
import { asJson } from "../terminal/text.ts";

/** `drover sessions`: lists and ends the sessions of browsers. */
export function addSessions(program: Command, io: Io): void {
  const sessions = program
    .command("sessions")
    .summary("list and end the sessions of browsers")
    .description("A browser that signs in has a session. It may do what the token may that started it.");
  addList(sessions, io);
  addEnd(sessions, io);
}

function addList(sessions: Command, io: Io): void {
  sessions
    .command("list")
    .summary("list the active sessions")
    .description("Lists the active sessions, latest start first.")
    .option("--json", "print JSON")
    .action(async ({ json }: { json?: boolean }) => {
      const { client } = connect(io);
      const { items } = await client.sessions.list();
      const rows = items.map((one) => [one.id, one.name, one.startedAt, one.lastUsedAt, one.expiresAt]);
      const headings = ["ID", "TOKEN", "STARTED", "LAST USED", "EXPIRES"];
      const text = listText(io, headings, rows, "No browser is signed in.");
      await io.stdout.write(json === true ? `${asJson(items)}\n` : text);
    });
}

function addEnd(sessions: Command, io: Io): void {
  sessions
    .command("end")
    .summary("sign a browser out")
    .description("Ends a session. Its browser is refused everywhere within 30 s.")
    .argument("<session>", "its id")
    .action(async (id: string) => {
      const { client } = connect(io);
      await client.sessions.end(id);
      await io.say(`the session ${id} has ended`);
    });
}
