import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { explain } from "../../cli/explain.ts";
import { ApiError, type ApiErrorCode, UnreachableError } from "../../client/errors.ts";
import { mountDisk, NO_MOUNT, type SmallDisk } from "../local/support/small-disk.ts";

let home: string;
let disk: SmallDisk | undefined;
beforeEach(() => {
  const cache = join(import.meta.dirname, "../../.cache");
  mkdirSync(cache, { recursive: true });
  home = mkdtempSync(join(cache, "words-"));
  disk = mountDisk(join(home, ".drover"), "size=2m,mode=700");
  writeFileSync(join(home, ".drover/context.json"), '{"url": "http://127.0.0.1:1", "token": "t"}', {
    mode: 0o600,
  });
});
afterEach(() => {
  disk?.unmount();
  rmSync(home, { recursive: true, force: true });
});

const fault = (code: ApiErrorCode, status: number) =>
  new ApiError({ code, status, temporary: false, detail: "it failed", instance: "urn:uuid:1" });
const log = () => join(home, ".drover/worker.log");
const words = (error: unknown, env = {}) => explain(error, { env, cwd: home }).lines;

test("P4: a failure of Drover's own names its instance and the log", () => {
  expect(words(fault("internal", 500))).toEqual(["it failed", `Look for instance urn:uuid:1 in ${log()}.`]);
  const remote = { DROVER_URL: "http://drover.test", DROVER_TOKEN: "t" };
  const there = "Look for instance urn:uuid:1 in the log of that Drover.";
  expect(words(fault("internal", 500), remote)).toEqual(["it failed", there]);
});

test("P4: a failure of a Drover whose disk is full says so", (context) => {
  if (disk === undefined) return context.skip(NO_MOUNT);
  disk.fill();
  const said = `disk full: ${disk.dir}. Free some space there, and Drover goes on by itself.`;
  expect(words(fault("internal", 500))).toContain(said);
  expect(words(fault("unavailable", 503))).toEqual(["it failed", said]);
  expect(words(new UnreachableError("http://127.0.0.1:1", new Error("no")))).toContain(said);
  // What the request did wrong has nothing to do with it.
  expect(words(fault("unknown_run", 404))).toEqual(["it failed"]);
  disk.free();
  expect(words(fault("unavailable", 503))).toEqual(["it failed"]);
});
