import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { CLEARED_AT_ONCE, LogStore } from "../../src/objects/files/log-store.ts";
import { bindings, freshWorld } from "./support/world.ts";

// The logs of a run may be more than an object has memory (platform.md#limits).

freshWorld();

const ROWS = 3 * CLEARED_AT_ONCE + 1;

test("logs are deleted a few rows at a time, all of them, and nothing else", async () => {
  await runInDurableObject(bindings.ALLOCATION.getByName("first"), async (_, { storage: { kv } }) => {
    const data = new Uint8Array(10);
    const at = (from: number) =>
      ({ attempt: "main/1.1", stream: "stdout", from, data, stamps: undefined }) as const;
    const listed: (number | undefined)[] = [];
    const watched = new Proxy(kv, {
      get(target, name) {
        if (name !== "list") return Reflect.get(target, name).bind(target);
        return (options: SyncKvListOptions) => {
          listed.push(options.limit);
          return target.list(options);
        };
      },
    });
    const store = new LogStore(watched, undefined, "first");
    store.write(Array.from({ length: ROWS }, (_unused, n) => at(n * data.length)));
    kv.put("other", 1);
    await store.clear(() => true);
    expect([...kv.list()]).toEqual([["other", 1]]);
    expect(new Set(listed)).toEqual(new Set([CLEARED_AT_ONCE]));
    kv.delete("other");
  });
});
