import { expect, test } from "vitest";
import { MAX_ADDRESS_CHARS, MAX_AGENT_CHARS, viaOf } from "../../src/core/audit/via.ts";

const via = (headers: Record<string, string>) => viaOf("id", (name) => headers[name] ?? null);

test("an entry keeps what a request says of itself, or that it says nothing (audit.md#via)", () => {
  expect(via({ "CF-Connecting-IP": "192.0.2.7", "User-Agent": "drover/0.1.0", Cookie: "x" })).toEqual({
    requestId: "id",
    address: "192.0.2.7",
    userAgent: "drover/0.1.0",
  });
  expect(via({})).toEqual({ requestId: "id", address: null, userAgent: null });
});

test("it is bounded, and has nothing that acts on a terminal or hides text (audit.md#via)", () => {
  const long = via({ "CF-Connecting-IP": "1".repeat(99), "User-Agent": `${"a".repeat(199)}\u{1f600}` });
  expect(long.address).toHaveLength(MAX_ADDRESS_CHARS);
  expect(long.userAgent?.length).toBeLessThanOrEqual(MAX_AGENT_CHARS);
  expect(long.userAgent?.isWellFormed()).toBe(true);
  expect(via({ "User-Agent": "\u001b[31m ev\u0000il\u202e\r\n " }).userAgent).toBe("[31m evil");
  expect(via({ "User-Agent": "\u0007\n" }).userAgent).toBeNull();
});
