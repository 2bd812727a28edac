// Runs `drover up` as a process with the tiny Worker, or with the one at --script=PATH from this folder.
// The first argument is the state directory; --fresh and --port=N are those of the command.
import { join, resolve } from "node:path";
import { upCommand } from "../../../local/up-command.ts";

const here = import.meta.dirname;
const [stateDir, ...flags] = process.argv.slice(2);
const flagOf = (name: string) => flags.find((flag) => flag.startsWith(name))?.slice(name.length);
const script = flagOf("--script=") ?? "tiny-worker.js";
const port = flagOf("--port=");

process.exitCode = await upCommand({
  stateDir,
  fresh: flags.includes("--fresh"),
  ...(port === undefined ? {} : { port: Number(port) }),
  worker: { script: resolve(here, script), options: join(here, "../../../dist/worker-options.json") },
});
