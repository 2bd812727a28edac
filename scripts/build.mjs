// Builds what is run: the agent (one file for a plain Node 20), the Worker, the command, and the client.
// `npm ci` calls it by `prepare`. The agent comes first: the Worker carries it, with its digest. The
// reference page lies beside the Worker. Then comes what the client derives from the routes: the command
// contains the client.
import { join } from "node:path";
import { build } from "esbuild";
import { agentOptions, client, command, root, worker } from "./bundles.mjs";
import { run } from "./env.mjs";
import { writeAgentModule, writeApiModule, writeWorkerOptions } from "./generated.mjs";
import { writeReference } from "./reference.mjs";

await build(agentOptions());
writeAgentModule();
writeReference(join(root, "dist/assets"));
await writeApiModule();
await build(worker);
writeWorkerOptions();
await build(command);
// `drover/client`, with declarations that need no package of ours.
await build(client);
const declared = await run("tsc", ["-p", "tsconfig.client.json"]);
if (declared.code !== 0) process.exitCode = 1;
