import { beforeEach, describe, expect, test } from "vitest";
import type { RunSearch } from "../../src/objects/rpc.ts";
import { answerQuery } from "../../src/routes/query/run-query.ts";
import { RUN_STATES } from "../../src/shared/run-state.ts";
import { question, tell, tellOf, upsert, waiting } from "./support/told-pool.ts";
import { eventually, freshWorld, makePool, objects } from "./support/world.ts";

// What a list of runs finds by prefix, submitter, time, text and failure (api.md#finding).

freshWorld();

const NOON = Date.parse("2026-11-21T12:00:00Z");
const states = [...RUN_STATES];
const complete = { state: "complete", startedAt: NOON, finishedAt: NOON + 1 } as const;

/** From the oldest to the newest, a minute apart. */
const RUNS = [
  upsert("build-1", "complete", 1),
  { ...upsert("build-17", "complete", 1), ...complete, exitCode: 0, by: "token:ci" },
  { ...upsert("build-18", "complete", 1), ...complete, exitCode: 3, command: "make Test" },
  { ...upsert("slow", "timedout", 1), labels: { set: "100%_Done" } },
  { ...upsert("lost", "unknown", 1), command: "make 'o''clock'" },
  { ...upsert("broken", "failed", 1), by: "token:ci" },
  { ...upsert("ended", "aborted", 1), exitCode: null },
  { ...upsert("live", "running", 1), command: "a\\b" },
].map((run, minute) => ({ ...run, submittedAt: NOON + minute * 60_000 }));

const idsOf = async (search: RunSearch, more: object = {}) => {
  const asked = question({ states, waitMs: 0, search, ...more });
  const { items } = await answerQuery(objects, asked);
  return items.map(({ id }) => id);
};

describe("a list finds (api.md#finding)", () => {
  beforeEach(async () => {
    await makePool({ maxInstances: 0 });
    for (const run of RUNS) await tell(run);
  });

  test.each<[string, RunSearch, string[]]>([
    [
      "all that begin with a prefix, and the whole id",
      { prefix: "build-1" },
      ["build-18", "build-17", "build-1"],
    ],
    ["no prefix in the middle", { prefix: "uild" }, []],
    ["what a caller has submitted", { by: "token:ci" }, ["broken", "build-17"]],
    ["what has failed, to people", { failed: true }, ["broken", "lost", "slow", "build-18"]],
    ["what was submitted at an instant or later", { since: NOON + 6 * 60_000 }, ["live", "ended"]],
    ["a text in the command, whatever its case", { text: "MAKE t" }, ["build-18"]],
    ["a text in the id", { text: "d-17" }, ["build-17"]],
    ["a text in the value of a label, without wildcards", { text: "%_done" }, ["slow"]],
    ["no text in the name of a label", { text: "set" }, []],
    ["quotes and backslashes as they are", { text: "o''c" }, ["lost"]],
    ["a backslash", { text: "a\\b" }, ["live"]],
    [
      "what all of them select",
      { prefix: "b", failed: true, since: NOON + 60_000, text: "make" },
      ["build-18"],
    ],
  ])("%s", async (_what, search, expected) => {
    expect(await idsOf(search)).toEqual(expected);
  });

  test("nothing that the states leave out", async () => {
    expect(await idsOf({ failed: true }, { states: ["complete"] })).toEqual(["build-18"]);
    expect(await idsOf({ failed: true }, { states: ["running", "aborted"] })).toEqual([]);
  });

  test("page by page, without a run twice or left out", async () => {
    const asked = { states, waitMs: 0, limit: 2, search: { failed: true, since: NOON } };
    const first = await answerQuery(objects, question(asked));
    const [last] = first.items.slice(-1);
    expect(first.next).not.toBeNull();
    const position = { at: last?.submittedAt ?? "", id: last?.id ?? "" };
    const second = await answerQuery(objects, question({ ...asked, position }));
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual([
      "broken",
      "lost",
      "slow",
      "build-18",
    ]);
    expect(second.next).toBeNull();
  });
});

test("a wait sees a run fail, and none that ends well (api.md#finding)", async () => {
  await makePool({ maxInstances: 0 });
  await tellOf("a", "running", 1);
  await tellOf("b", "running", 1);
  const answer = answerQuery(objects, question({ states, search: { failed: true } }));
  await eventually(async () => ((await waiting()) === 1 ? true : undefined));
  await tell({ ...upsert("a", "complete", 2), ...complete, exitCode: 0 });
  await tell({ ...upsert("b", "complete", 2), ...complete, exitCode: 1 });
  expect((await answer).items.map(({ id }) => id)).toEqual(["b"]);
});
