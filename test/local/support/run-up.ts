// Runs `drover up` as a process of its own with the tiny Worker, or with --silent with the silent one. The
// first argument is the state directory; --fresh and --port=N are those of the command.
import { join } from "node:path";
import { upCommand } from "../../../local/up-command.ts";

const here = import.meta.dirname;
const [stateDir, ...flags] = process.argv.slice(2);
const script = flags.includes("--silent") ? "silent-worker.js" : "tiny-worker.js";
const port = flags.find((flag) => flag.startsWith("--port="))?.slice("--port=".length);

process.exitCode = await upCommand({
  stateDir,
  fresh: flags.includes("--fresh"),
  ...(port === undefined ? {} : { port: Number(port) }),
  worker: { script: join(here, script), config: join(here, "../../../wrangler.toml") },
});
