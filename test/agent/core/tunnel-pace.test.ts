import { expect, test } from "vitest";
import { afterFrame, fullTunnelPace, waitOf } from "../../../agent/core/tunnel-pace.ts";
import { chargeCall, fullPace } from "../../../src/core/worker/host/pace.ts";
import { unitsOfFrame } from "../../../src/shared/tunnel/host-units.ts";

// What tunnels send together, and what the control plane takes (tunnels.md#pace).

const MINUTE_MS = 60_000;

test.each([
  ["of a key", 100],
  ["full", 65_700],
  ["the largest", 256 * 1024],
])("frames %s for a minute are never too many for the control plane", (_what, chars) => {
  let [pace, plane] = [fullTunnelPace(0), fullPace(0)];
  let sent = 0;
  for (let now = 0; now < MINUTE_MS; ) {
    const waitMs = waitOf(pace, now);
    if (waitMs > 0) {
      now += waitMs;
      continue;
    }
    pace = afterFrame(pace, chars, now);
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
  const spent = afterFrame(fullTunnelPace(1_000), 200 * 1024 * 1024, 1_000);
  expect(waitOf(spent, 1_000)).toBeGreaterThan(0);
  expect(waitOf(spent, 0)).toBe(waitOf(spent, 1_000));
  expect(waitOf(spent, 1_000 + waitOf(spent, 1_000))).toBe(0);
  expect(afterFrame(fullTunnelPace(0), 0, MINUTE_MS).units).toBeCloseTo(fullTunnelPace(0).units, 0);
});
