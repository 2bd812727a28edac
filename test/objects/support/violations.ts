import { abortAllDurableObjects, reset } from "cloudflare:test";
import { afterEach, beforeAll, expect } from "vitest";

/** The broken invariants that the objects have logged in this test file. */
const seen: unknown[] = [];

const log = console.error;
console.error = (...said: unknown[]) => {
  const [line] = said;
  if (typeof line === "object" && line !== null && "event" in line && line.event === "invariant_violated")
    seen.push(line);
  else log(...said);
};

/** Takes the violations that a test has caused on purpose. All others fail it. */
export function takeViolations(): unknown[] {
  return seen.splice(0);
}

// One runtime is for all files (`vitest.config.ts`): no object of the last one may live on, and write again.
beforeAll(async () => {
  await abortAllDurableObjects();
  await reset();
});

afterEach(() => {
  expect(takeViolations()).toEqual([]);
});
