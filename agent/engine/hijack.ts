// How does a request become a raw connection to a process in a container?
import type { Duplex } from "node:stream";
import { EngineError } from "./errors.ts";
import { type Ask, bodyOf, faultOf, open, refusal } from "./transport.ts";

/** Engines give the connection away to those who ask to upgrade it to this. */
const UPGRADE = { connection: "Upgrade", upgrade: "tcp" };

/** How long the engine may take to give the connection away. */
const UPGRADE_MS = 60_000;

/**
 * Sends a request and takes its connection over (engine.md#hijack). `end()` of the stream ends the input of
 * the process and nothing else. The connection keeps no process alive.
 */
export function hijack(socketPath: string, asked: Omit<Ask, "timeoutMs">): Promise<Duplex> {
  const one = { ...asked, timeoutMs: UPGRADE_MS, headers: { ...asked.headers, ...UPGRADE } };
  return new Promise((resolve, reject) => {
    const call = open(socketPath, one);
    call.on("upgrade", (_response, socket, head) => {
      // What came with the answer belongs to the process.
      if (head.length > 0) socket.unshift(head);
      if ("unref" in socket && typeof socket.unref === "function") socket.unref();
      // A connection that ends before somebody reads it must not end the agent.
      socket.on("error", () => undefined);
      resolve(socket);
    });
    call.on("response", (response) => {
      const status = response.statusCode ?? 0;
      if (status < 400) {
        response.destroy();
        const text = `The container engine could not ${one.what}: it does not give the connection away.`;
        reject(new EngineError("not_engine", text, { status }));
      } else bodyOf(one, response).then((body) => reject(refusal(one, status, body)), reject);
    });
    call.on("error", (error) => reject(faultOf(one, error, socketPath)));
  });
}
