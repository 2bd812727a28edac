import { expect, test } from "vitest";
import { chargeCall, fullPace } from "../../src/core/worker/host/pace.ts";
import {
  CLIENT_UNITS,
  ONE_CLIENT_UNITS,
  TUNNEL_UNITS,
  unitsOfFrame,
} from "../../src/shared/tunnel/host-units.ts";
import { afterFrame, fullTunnelPace, waitOf } from "../../src/shared/tunnel/pace.ts";

// What tunnels send together, and what the control plane takes (tunnels.md#pace).

const MINUTE_MS = 60_000;

test.each([
  ["of a key", 100],
  ["full", 65_700],
  ["the largest", 256 * 1024],
])("frames %s for a minute are never too many for the control plane", (_what, chars) => {
  let [pace, plane] = [fullTunnelPace(TUNNEL_UNITS, 0), fullPace(0)];
  let sent = 0;
  for (let now = 0; now < MINUTE_MS; ) {
    const waitMs = waitOf(pace, now);
    if (waitMs > 0) {
      now += waitMs;
      continue;
    }
    pace = afterFrame(pace, unitsOfFrame(chars), now);
    const charged = chargeCall(plane, unitsOfFrame(chars), now);
    expect(charged.waitMs).toBe(0);
    // Reports and other frames have the rest.
    expect(charged.pace.units).toBeGreaterThan(20);
    plane = charged.pace;
    sent += 1;
  }
  expect(sent * unitsOfFrame(chars)).toBeGreaterThan(60 * 55);
});

test("what was not spent is not saved beyond the most, and a clock that goes back gives nothing", () => {
  const full = (now: number) => fullTunnelPace(TUNNEL_UNITS, now);
  const spent = afterFrame(full(1_000), 200, 1_000);
  expect(waitOf(spent, 1_000)).toBeGreaterThan(0);
  expect(waitOf(spent, 0)).toBe(waitOf(spent, 1_000));
  expect(waitOf(spent, 1_000 + waitOf(spent, 1_000))).toBe(0);
  expect(afterFrame(full(0), 0, MINUTE_MS).units).toBe(full(0).units);
});

test("answers to a flood of clients and what tunnels send are never too many together", () => {
  let [tunnels, clients, plane] = [fullTunnelPace(TUNNEL_UNITS, 0), fullPace(0, CLIENT_UNITS), fullPace(0)];
  const send = (units: number, now: number) => {
    tunnels = afterFrame(tunnels, units, now);
    const charged = chargeCall(plane, units, now);
    expect(charged.waitMs).toBe(0);
    expect(charged.pace.units).toBeGreaterThan(10);
    plane = charged.pace;
  };
  for (let now = 0; now < MINUTE_MS; now += 5) {
    // The tunnels have spent all, and then each frame that a client may send is answered at once.
    while (waitOf(tunnels, now) === 0) send(unitsOfFrame(65_700), now);
    for (;;) {
      const { pace, waitMs } = chargeCall(clients, unitsOfFrame(0), now, CLIENT_UNITS);
      clients = pace;
      if (waitMs > 0) break;
      send(unitsOfFrame(100), now);
    }
  }
});

test("one client that keeps its pace is never cut off (tunnels.md#pace)", () => {
  let [client, plane] = [fullTunnelPace(ONE_CLIENT_UNITS, 0), fullPace(0, CLIENT_UNITS)];
  for (let now = 0; now < MINUTE_MS; now += 1) {
    while (waitOf(client, now) === 0) {
      client = afterFrame(client, unitsOfFrame(0), now);
      const charged = chargeCall(plane, unitsOfFrame(0), now, CLIENT_UNITS);
      expect(charged.waitMs).toBe(0);
      plane = charged.pace;
    }
  }
});
