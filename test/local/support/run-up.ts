// Runs `drover up` as a process of its own with the tiny Worker. Arguments: the state directory, then --fresh, --port=N.
import { join } from "node:path";
import { upCommand } from "../../../local/up-command.ts";

const here = import.meta.dirname;
const [stateDir, ...flags] = process.argv.slice(2);
const port = flags.find((flag) => flag.startsWith("--port="))?.slice("--port=".length);

process.exitCode = await upCommand({
  stateDir,
  fresh: flags.includes("--fresh"),
  ...(port === undefined ? {} : { port: Number(port) }),
  worker: { script: join(here, "tiny-worker.js"), config: join(here, "../../../wrangler.toml") },
});
