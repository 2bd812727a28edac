import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { until } from "../../local/support/scratch.ts";
import { portsOf } from "./listening.ts";

/** For a CONNECT to this host, the runtime's sockets accept Cap'n Proto instead of HTTP. */
const CAPNP_HOST = "miniflare-unsafe-internal-capnp-connect";

/**
 * Calls methods of whatever serves a port, over the protocol in which one workerd calls a Worker of another.
 * Returns for each method what came of the call.
 */
export async function callMethods(dir: string, port: number, methods: string[]): Promise<string[]> {
  writeFileSync(
    join(dir, "caller.js"),
    `export default { async fetch(_, { TARGET }) {
      const call = (name) => TARGET[name]({ cron: "x" }).then(() => name + " was done", String);
      return Response.json(await Promise.all(${JSON.stringify(methods)}.map(call)));
    } };`,
  );
  writeFileSync(
    join(dir, "caller.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [
        (name = "caller", worker = (
          modules = [(name = "caller.js", esModule = embed "caller.js")],
          compatibilityDate = "2026-01-01",
          bindings = [(name = "TARGET", service = "target")],
        )),
        (name = "target", external = (
          address = "127.0.0.1:${port}", http = (capnpConnectHost = "${CAPNP_HOST}"))),
      ],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "caller")],
    );`,
  );
  const { default: workerd } = createRequire(import.meta.url)("workerd");
  const child = spawn(workerd, ["serve", "--experimental", "caller.capnp"], { cwd: dir, stdio: "ignore" });
  onTestFinished(async () => {
    if (child.exitCode === null && child.kill("SIGKILL")) await once(child, "close");
  });
  const { pid = 0 } = child;
  const own = await until("the caller listens", () => portsOf([pid])[0]);
  return (await (await fetch(`http://127.0.0.1:${own}`)).json()) as string[]; // made just above
}
