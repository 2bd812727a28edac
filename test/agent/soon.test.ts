import { expect, test } from "vitest";
import { Soon } from "../../agent/tunnels/soon.ts";
import { until } from "../local/support/scratch.ts";

// What has come is sent at once, unless something was sent just before (tunnels.md#offsets).

function counted() {
  const acts: number[] = [];
  const soon = new Soon(() => acts.push(acts.length));
  return { acts, soon };
}

test("the first call acts at once, and later ones act once together (tunnels.md#offsets)", async () => {
  const { acts, soon } = counted();
  soon.call();
  expect(acts).toHaveLength(1);
  for (let i = 0; i < 100; i += 1) soon.call();
  expect(acts).toHaveLength(1);
  await until("the others are acted for", () => acts.length > 1 || undefined);
  expect(acts).toHaveLength(2);
});

test("after a pause, the next call acts at once again (tunnels.md#offsets)", async () => {
  const { acts, soon } = counted();
  soon.call();
  // A call during the pause is acted for later, so this waits until one was not.
  await until("a call acts at once", () => {
    const before = acts.length;
    soon.call();
    return acts.length > before || undefined;
  });
});

test("what is dropped is not acted for (tunnels.md#life)", async () => {
  const { acts, soon } = counted();
  soon.call();
  soon.call();
  soon.drop();
  const other = counted();
  other.soon.call();
  other.soon.call();
  await until("another one that was called as late has acted", () => other.acts.length > 1 || undefined);
  expect(acts).toHaveLength(1);
});
