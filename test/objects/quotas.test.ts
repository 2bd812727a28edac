import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { RunUpsert } from "../../src/core/messages.ts";
import type { Mailbox } from "../../src/objects/messages/post.ts";
import { pool, upsert } from "./support/told-pool.ts";
import { freshWorld, makePool } from "./support/world.ts";

freshWorld();

/** What the pool answers to a run of the project `default`. */
function tell(id: string, more: Partial<RunUpsert>) {
  return runInDurableObject(pool(), (instance) => {
    const mailbox = instance as unknown as Mailbox<"pool">; // the class implements it
    return mailbox.deliver({ type: "run", body: { ...upsert(id, "complete", 1), ...more } });
  });
}

test("a pool loaded anew reads what its projects have stored (projects.md#stored-bytes)", async () => {
  await makePool({ maxInstances: 0, projects: { default: { maxStoredBytes: 100 } } });
  await tell("a", { storedBytes: 60 });
  await tell("b", { storedBytes: 39 });
  await tell("other", { storedBytes: 1_000, project: "ml" });
  const reset = () =>
    runInDurableObject(pool(), (_, state) => state.abort("reset by a test")).catch(() => undefined);
  await reset();
  expect(await tell("c", { state: "pending", wants: "place" })).toMatchObject({ kind: "queued" });
  await tell("d", { storedBytes: 1 });
  expect(await tell("e", { state: "pending", wants: "place" })).toMatchObject({ code: "project_full" });
  await reset();
  expect(await tell("e", { state: "pending", wants: "place" })).toMatchObject({ code: "project_full" });
});
