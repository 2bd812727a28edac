import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FileServer, openFileServer, sha256Of } from "../agent/support/file-server.ts";
import { until } from "../local/support/scratch.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";
import type { Json } from "./support/edge.ts";
import { endOf } from "./support/ends.ts";

// What is done for a task before it starts, through the whole of Drover: host-protocol.md#hooks.

let home: string;
let up: RunningDrover;
let server: FileServer;
beforeAll(async () => {
  home = makeHome("hooks");
  [up, server] = await Promise.all([startDrover(home), openFileServer()]);
});
afterAll(async () => {
  await server.close();
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const prestart = { lifecycle: { hook: "prestart" } };
const sh = (name: string, script: string, more: object = {}) => ({
  name,
  argv: ["sh", "-c", script],
  restart: { attempts: 0 },
  ...more,
});

/** Runs a group to its end. */
async function runToEnd(id: string, tasks: object[], more: object = {}): Promise<Json> {
  const resources = { vcpus: 0, memory: "64MiB" };
  const spec = { id, tasks, resources, reschedule: { attempts: 0 }, ...more };
  await up.json(201, "POST", "/v1/runs", spec);
  return endOf(up, id);
}

const outputOf = async (id: string, name = "main") =>
  (await up.call("GET", `/v1/runs/${id}/logs/${name}/stdout`)).text();

const eventsOf = (run: Json) => run.tasks[0].events.map((event: Json) => event.type);

function serve(path: string, content: Buffer, to = "in/") {
  server.on(path, content);
  return { url: server.url + path, sha256: sha256Of(content), to };
}

test("a prestart task leaves something in alloc/data, and main finds it with its artifacts", async () => {
  const folder = join(home, "tree");
  mkdirSync(folder);
  writeFileSync(join(folder, "tool"), "#!/bin/sh\necho a tool\n", { mode: 0o755 });
  const archive = execFileSync("tar", ["-C", folder, "-czf", "-", "."]);
  const artifacts = [serve("/tree.tar.gz", archive), serve("/word.txt", Buffer.from("a word\n"), ".")];
  const script = 'in/tool; cat word.txt "$DROVER_ALLOC_DIR/data/left"; echo ${meta.color}';
  const run = await runToEnd(
    "whole",
    [
      sh("prepare", 'echo left >"$DROVER_ALLOC_DIR/data/left"; echo ${DROVER_ALLOC_DIR}', prestart),
      sh("main", script, { artifacts, meta: { color: "red" } }),
    ],
    { meta: { color: "blue" } },
  );
  expect(run).toMatchObject({ state: "complete", exitCode: 0 });
  expect(await outputOf("whole")).toBe("a tool\na word\nleft\nred\n");
  // Nothing is left of it on the machine, once the placement is over.
  const alloc = (await outputOf("whole", "prepare")).trim();
  expect(alloc).toContain("whole_1");
  await until("its directories are gone", async () => (existsSync(alloc) ? undefined : true));
});

test("a task that is started again finds its directory, and no artifact is fetched again", async () => {
  const artifacts = [serve("/again", Buffer.from("x"), ".")];
  const restart = { attempts: 2, delay: "50ms", interval: "1h" };
  const script = "ls; touch seen; test -e third || { touch third; exit 1; }";
  const run = await runToEnd("again", [sh("main", script, { restart, artifacts })]);
  expect(run).toMatchObject({ state: "complete", exitCode: 0, tasks: [{ restarts: 1 }] });
  expect(await outputOf("again")).toBe("again\nseen\nthird\n");
  expect(server.requests.filter((path) => path === "/again")).toEqual(["/again"]);
});

test.each([
  [
    "wrong-digest",
    () => ({ ...serve("/wrong", Buffer.from("other")), sha256: "0".repeat(64) }),
    "its sha256 is",
  ],
  ["missing-file", () => ({ url: `${server.url}/none`, sha256: "0".repeat(64), to: "." }), "answers 404"],
  ["escaping", () => serve("/escape.tar", escapingArchive()), "leads out of the directory"],
])("an artifact that is %s fails the run, and nothing starts", async (id, make, words) => {
  const marker = join(home, `${id}-started`);
  const run = await runToEnd(id, [sh("main", `touch ${marker}`, { artifacts: [make()] })]);
  expect(run).toMatchObject({
    state: "failed",
    exitCode: null,
    failure: { class: "infrastructure", code: "artifact_failed", text: expect.stringContaining(words) },
  });
  expect(eventsOf(run)).toContain("Failed Artifact Download");
  expect(existsSync(marker)).toBe(false);
});

function escapingArchive(): Buffer {
  const file = join(home, "escape.tar");
  writeFileSync(join(home, "payload"), "");
  execFileSync("tar", ["-C", home, "--transform=s,payload,../../escaped,", "-Pcf", file, "payload"]);
  return readFileSync(file);
}

test("a download that takes too long is a part of the run's time, and is seen", async () => {
  server.on("/slow", (_, response) => void response.write("x"));
  const artifacts = [{ url: `${server.url}/slow`, sha256: "0".repeat(64), to: "." }];
  const run = await runToEnd("slow", [sh("main", "echo started", { artifacts })], { timeout: "3s" });
  expect(run).toMatchObject({ state: "timedout", startedAt: null });
  expect(eventsOf(run)).toContain("Downloading Artifacts");
});

test("a user that the machine does not have", async () => {
  const run = await runToEnd("no-user", [sh("main", "true", { user: "no-such-user" })]);
  expect(run).toMatchObject({
    state: "failed",
    failure: {
      class: "task",
      code: "user_not_found",
      text: 'There is no user "no-such-user" on this machine.',
    },
  });
});
