import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join, relative } from "node:path";
import { choosePort } from "../../../local/ports.ts";
import { type Runtime, startRuntime } from "../../../local/runtime/runtime.ts";

const DIST = join(import.meta.dirname, "../../../dist");

/** What runs at an address. */
export interface Running {
  script: string;
  vars: Record<string, string>;
  hasBucket: boolean;
}

/** Runs Workers as they were uploaded, and passes requests to them by host name. */
export interface FakeEdge {
  /** Runs this code with these secrets; the objects of an earlier version stay. */
  run(worker: string, running: Running): Promise<void>;
  serve(request: IncomingMessage, response: ServerResponse, body: Buffer, answers: boolean): Promise<void>;
  close(): Promise<void>;
}

/** Opens the edge. `hostOf`: the Worker to which a host name leads. */
export function openEdge(stateDir: string, hostOf: (host: string) => string | undefined): FakeEdge {
  const runtimes = new Map<string, { runtime: Runtime; port: number }>();
  const stop = async (worker: string) => {
    await runtimes.get(worker)?.runtime.dispose();
    runtimes.delete(worker);
  };
  return {
    async run(worker, { script, vars, hasBucket }) {
      await stop(worker);
      const own = join(stateDir, worker);
      mkdirSync(own, { recursive: true, mode: 0o700 });
      const port = await choosePort();
      const file = join(own, "worker.js");
      writeFileSync(file, script);
      const runtime = await startRuntime({
        ...{ script: file, options: optionsFor(own, hasBucket), stateDir: own, port, vars, aheadMs: 0 },
        ...{ allowLocalWebhooks: false, allowLocalIssuers: false },
        onLog: () => undefined,
        onDeath: () => undefined,
      });
      runtimes.set(worker, { runtime, port });
    },
    async serve(request, response, body, answers) {
      const host = String(request.headers["x-fake-host"]);
      const at = runtimes.get(hostOf(host) ?? "");
      if (at === undefined || !answers) {
        response.writeHead(404, { "content-type": "text/html" });
        return void response.end("There is nothing here yet");
      }
      const { "x-fake-host": _, host: _host, connection: _connection, ...headers } = request.headers;
      const answer = await fetch(`http://127.0.0.1:${at.port}${request.url}`, {
        method: request.method ?? "GET",
        headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
        ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
      });
      const content = Buffer.from(await answer.arrayBuffer());
      const {
        "content-length": _length,
        "content-encoding": _coding,
        ...shown
      } = Object.fromEntries(answer.headers);
      response.writeHead(answer.status, shown);
      response.end(content);
    },
    async close() {
      for (const worker of [...runtimes.keys()]) await stop(worker);
    },
  };
}

/** The options of the local runtime, without the bucket if there is none. Paths are relative to `own`. */
function optionsFor(own: string, hasBucket: boolean): string {
  const built = JSON.parse(readFileSync(join(DIST, "worker-options.json"), "utf8"));
  const { assets } = built.options;
  const options = {
    ...built.options,
    assets: { ...assets, directory: relative(own, join(DIST, "assets")) },
    ...(hasBucket ? {} : { r2Buckets: {} }),
  };
  mkdirSync(join(own, "dist"), { recursive: true });
  const file = join(own, "dist", "worker-options.json");
  writeFileSync(file, JSON.stringify({ ...built, options }));
  return file;
}
