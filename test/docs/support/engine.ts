import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type Podman, startPodman } from "../../agent/support/podman.ts";

/** The images that documents name. Each is busybox, which is all that their examples use of them. */
const IMAGES = ["docker.io/library/busybox:1", "docker.io/library/busybox:latest"];

/** A container engine for the examples of documents. */
export interface DocumentsEngine {
  socketPath: string;
  podman: Podman;
  stop(): Promise<void>;
}

/**
 * Starts a private podman with the images of the documents. It has no bridge, so containers that ask for one
 * get the network of the machine: what examples do is the same.
 */
export async function startDocumentsEngine(): Promise<DocumentsEngine> {
  const podman = await startPodman();
  const dir = mkdtempSync(join("/tmp", "drover-docs-engine-"));
  const socketPath = join(dir, "engine.sock");
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const engine = createConnection(podman.socketPath);
    const hosted = replacer('"NetworkMode":"bridge"', '"NetworkMode":"host"  ');
    client.on("data", (bytes) => engine.write(hosted.replace(bytes)));
    client.on("end", () => engine.end(hosted.rest()));
    engine.pipe(client);
    for (const [one, other] of [
      [client, engine],
      [engine, client],
    ] as const) {
      open.add(one);
      one.on("error", () => other.destroy()).on("close", () => open.delete(one));
    }
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  for (const image of IMAGES) await podman.importImage(image);
  return {
    socketPath,
    podman,
    async stop() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await podman.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Replaces a text by another one of the same length in bytes that come in pieces. */
function replacer(from: string, to: string) {
  let held = "";
  return {
    replace(bytes: Buffer): Buffer {
      const done = (held + bytes.toString("latin1")).replaceAll(from, to);
      // The beginning of the text may stand at the end of a piece.
      let keep = from.length - 1;
      while (keep > 0 && !done.endsWith(from.slice(0, keep))) keep -= 1;
      held = done.slice(done.length - keep);
      return Buffer.from(done.slice(0, done.length - keep), "latin1");
    },
    rest: () => Buffer.from(held, "latin1"),
  };
}
