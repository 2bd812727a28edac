import { describe, expect, test } from "vitest";
import { isFrom, isNetwork, placeOf } from "../../../src/schema/access/networks.ts";

describe("the networks from which a token is accepted (access.md#limits)", () => {
  test.each([
    ["10.1.2.3", ["10.0.0.0/8"], true],
    ["11.1.2.3", ["10.0.0.0/8"], false],
    ["11.1.2.3", ["10.0.0.0/8", "11.1.2.3"], true],
    ["11.1.2.4", ["11.1.2.3"], false],
    ["::ffff:10.1.2.3", ["10.0.0.0/8"], true],
    ["2001:db8::1", ["2001:db8::/32"], true],
    ["2001:db9::1", ["2001:db8::/32"], false],
    ["2001:db8::1", ["10.0.0.0/8"], false],
    ["10.1.2.3", ["2001:db8::/32"], false],
    ["10.1.2.3", ["0.0.0.0/0"], true],
    ["not an address", ["0.0.0.0/0"], false],
    [undefined, ["0.0.0.0/0"], false],
  ])("%s is among %j: %s", (address, networks, isAmong) => {
    expect(isFrom(networks, address)).toBe(isAmong);
  });

  test.each([
    "10.0.0.0/33",
    "10.0.0/8/8",
    "example.com",
    "",
    "10.0.0.256",
    "010.0.0.1",
    "010.0.0.0/8",
    "0x0a.0.0.1",
    "10.1",
  ])("%j is no network", (text) => {
    expect(isNetwork(text)).toBe(false);
  });
});

describe("what counts as one sender (access.md#rate-limits)", () => {
  test.each([
    ["192.0.2.1", "192.0.2.1", true],
    ["192.0.2.1", "192.0.2.2", false],
    ["::ffff:192.0.2.1", "192.0.2.1", true],
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["unknown", "unknown", true],
    ["", "192.0.2.1", false],
  ])("%s and %s: %s", (one, other, isSame) => {
    expect(placeOf(one) === placeOf(other)).toBe(isSame);
  });
});
