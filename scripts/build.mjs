// Builds the agent (one file for Node 20), the Worker, the command and the client; `npm ci` calls it. The
// agent comes first: the Worker knows its digest. The client's types come last: they derive from the routes.
import { join } from "node:path";
import { build } from "esbuild";
import { agentOptions, client, commandOptions, root, worker } from "./bundles.mjs";
import { run } from "./env.mjs";
import { writeAgentModule, writeApiModule, writeWorkerOptions } from "./generated.mjs";
import { writePage } from "./page.mjs";
import { writeReference } from "./reference.mjs";

await build(agentOptions());
writeReference(join(root, "dist/assets"));
writeAgentModule();
await writeApiModule();
await writePage(join(root, "dist/assets"));
await build(worker);
writeWorkerOptions();
await build(commandOptions());
// The manual pages, from the help of the command itself. `package.json` lists them.
const written = await run("node", ["dist/cli.mjs", "help", "--into", "dist/man"]);
if (written.code !== 0) process.exitCode = 1;
// `drover/client`, with type declarations that need no other package.
await build(client);
const declared = await run("tsc", ["-p", "tsconfig.client.json"]);
if (declared.code !== 0) process.exitCode = 1;
