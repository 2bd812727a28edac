import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { EngineWatch, stateAfter } from "../../../agent/containers/engine-watch.ts";
import { EngineError, type EngineErrorKind } from "../../../agent/engine/errors.ts";

// What an engine is that could not be asked (containers.md#engines).

test.each<[EngineErrorKind, string]>([
  ["version", "refused"],
  ["denied", "refused"],
  ["not_engine", "refused"],
  ["unreachable", "down"],
  ["timeout", "down"],
  ["cut", "down"],
  ["server", "down"],
])("an engine with the error %s is %s", (kind, state) => {
  expect(stateAfter(new EngineError(kind, "no"))).toBe(state);
});

test("what answers at the socket and is no engine is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "drover-watch-"));
  const socket = join(folder, "s");
  const server = createServer((client) => client.end("SSH-2.0-OpenSSH\r\n"));
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  const watch = new EngineWatch({ socket, logsOf: async () => "text", changed: () => {}, usable: () => {} });
  await watch.look();
  expect(watch.shown).toMatchObject({ state: "refused" });
});
