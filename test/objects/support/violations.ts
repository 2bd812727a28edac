import { afterEach, expect } from "vitest";

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

afterEach(() => {
  expect(takeViolations()).toEqual([]);
});
