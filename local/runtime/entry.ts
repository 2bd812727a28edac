// How can `drover up`, but no other program, fire a cron trigger of the Worker?
import { closeSync, openSync } from "node:fs";
import { request } from "node:http";
import { text } from "node:stream/consumers";

/** The socket of Miniflare's own entry: below the state directory, which only its owner can open. */
export const ENTRY = "tmp/entry";

/**
 * Calls the Worker's `scheduled` as a cron trigger does. Rejects if `scheduled` fails, or if the runtime does
 * not answer.
 *
 * The path of a socket has at most 107 bytes, and the path of a state directory may be longer. So the socket
 * is reached through a descriptor of the directory.
 */
export async function fireCron(stateDir: string, cron: string): Promise<void> {
  const directory = openSync(stateDir, "r");
  try {
    const path = `/cdn-cgi/local/scheduled?${new URLSearchParams({ cron })}`;
    const { status, body } = await get(`/proc/self/fd/${directory}/${ENTRY}`, path);
    if (status !== 200) throw new Error(`the Worker ended with "${body}"`);
  } finally {
    closeSync(directory);
  }
}

function get(socketPath: string, path: string): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, headers: { host: "localhost" }, agent: false }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
    });
    asked.once("error", reject).end();
  });
}
