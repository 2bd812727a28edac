import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createClient } from "../../client/client.ts";
import { RunSpec } from "../../src/schema/run/run.ts";
import { changed } from "../edge/support/samples.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, statusOf, TOKEN } from "./support/control-plane.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
  bench.plane.runs.set("r1", changed(statusOf("r1"), { state: "running", specIndex: 3 }));
});
afterEach(() => bench.close());

const spec = { argv: ["x"], timeout: "2h" };
const update = (file: string) => bench.run(["update", "r1", "-f", file]);

test("S6: `drover update` puts the spec of a file in the place of the one that the run has", async () => {
  const next = changed(statusOf("r1"), { state: "running", specIndex: 4, spec: RunSpec.parse(spec) });
  bench.plane.on("PATCH", /r1$/, (_seen, res) => json(res, 200, next));
  writeFileSync(join(bench.dir, "spec.json"), JSON.stringify(spec));
  const { code, stdout } = await update("spec.json");
  expect([code, stdout.toString()]).toEqual([0, "r1 has its new spec\n"]);
  expect(bench.plane.seen.at(-1)?.body).toEqual({ specIndex: 3, spec });
});

test("S6: `drover update` says what cannot change, and where", async () => {
  const errors = [{ pointer: "/spec/argv", detail: "cannot change while the run exists" }];
  bench.plane.on("PATCH", /r1$/, (_seen, res) =>
    problem(res, 400, "invalid_request", { detail: "/spec/argv cannot change", errors }),
  );
  writeFileSync(join(bench.dir, "spec.json"), JSON.stringify(spec));
  const { code, stderr } = await update("spec.json");
  expect([code, stderr]).toEqual([125, expect.stringContaining("cannot change")]);
});

test("S6: the client brings events as they happen, until the last, and the metrics as they are", async () => {
  const event = (seq: number) => ({ seq, type: "Started", at: "", task: null, message: "", details: {} });
  const asked: string[] = [];
  bench.plane.on("GET", /r1\/events$/, ({ query }, res) => {
    asked.push(query.get("after") ?? "");
    const isFirst = asked.length === 1;
    json(res, 200, { items: isFirst ? [event(1), event(2)] : [event(3)], dropped: 0, ended: !isFirst });
  });
  bench.plane.on("GET", /\/metrics$/, (_seen, res) => res.end("drover_pool_up 1\n"));
  const client = createClient({ url: bench.plane.url, token: TOKEN });
  const seen: number[] = [];
  for await (const { seq } of client.runs.watch("r1")) seen.push(seq);
  expect([seen, asked]).toEqual([
    [1, 2, 3],
    ["0", "2"],
  ]);
  expect(await client.metrics({ pools: ["default"] })).toBe("drover_pool_up 1\n");
});
