import { expect, test } from "vitest";
import { instantOf } from "../../ui/pages/events/instant.ts";

const NOW = Date.parse("2026-11-27T16:30:00Z");

test.each([
  ["1h", "2026-11-27T15:30:00.000Z"],
  ["2d", "2026-11-25T16:30:00.000Z"],
  ["2026-11-27", "2026-11-27T00:00:00Z"],
  ["2026-11-27 16:00", "2026-11-27T16:00:00Z"],
  ["2026-11-27 16:00:12 UTC", "2026-11-27T16:00:12Z"],
  ["2026-11-27T16:00:12.345Z", "2026-11-27T16:00:12Z"],
])("%s is meant as %s, in UTC (ui.md#events)", (text, instant) => {
  expect(instantOf(text, NOW)).toBe(instant);
});

test.each(["yesterday", "16:00", "2026-11-27 16:00 CET", ""])(
  "%j is left for the server to refuse",
  (text) => {
    expect(instantOf(text, NOW)).toBe(text);
  },
);
