// `drover ui`: opens the page of Drover in the browser, signed in.
import { type Command, InvalidArgumentError } from "commander";
import { openInBrowser } from "../browser/open.ts";
import { connect, projectFor } from "../context.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
The address is printed in any case. It works once, within a minute, and signs in whoever
opens it: they may then do what your token may, until \`drover sessions end\`.

Examples:
  drover ui
  drover ui runs/build-17
  drover --context work ui workers
  drover ui --no-open          # print the address, for a browser elsewhere`;

/** Where all pages are. */
const ROOT = "/ui";

/** `drover ui`: opens the page of Drover in the browser, signed in (cli.md#ui). */
export function addUi(program: Command, io: Io): void {
  program
    .command("ui")
    .summary("open the page of Drover in the browser, signed in")
    .description("Opens the page of Drover in the browser, signed in with the rights of your token.")
    .argument("[page]", "which page, such as runs, runs/build-17 or workers", pathOf)
    .option("--no-open", "only print the address")
    .addHelpText("after", HELP)
    .action(async (path: string | undefined, { open }: { open: boolean }) => {
      const { client, context } = connect(io);
      const { code } = await client.sessions.code();
      const address = new URL(`${path ?? ROOT}#code=${code}`, context.url).href;
      await io.stdout.write(`${address}\n`);
      await io.say("The address works once, within a minute, and signs in whoever opens it.");
      const project = projectFor(io, context);
      if (project !== undefined) {
        await io.say(`A browser acts for the token, not in the project of ${project.by} alone.`);
      }
      if (!open) return;
      const why = await openInBrowser(io, address);
      await io.say(why === undefined ? "It is opened in your browser." : `Open it yourself, since ${why}.`);
    });
}

/** The path of a page, as people write it: `runs`, `/runs` or `/ui/runs`. */
function pathOf(page: string): string {
  const within = page.replace(/^\/+/, "").replace(/^ui(\/|$)/, "");
  const path = within === "" ? ROOT : `${ROOT}/${within}`;
  const { pathname, search, hash } = new URL(path, "http://drover");
  const isBelow = pathname === ROOT || pathname.startsWith(`${ROOT}/`);
  if (isBelow && hash === "") return `${pathname}${search}`;
  throw new InvalidArgumentError("It must be a page of Drover, such as runs, runs/build-17 or workers.");
}
