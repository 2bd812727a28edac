import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ControlPlane } from "../../agent/plane/control-plane.ts";
import { makeSalt } from "../../agent/plane/sign.ts";
import { keyOf } from "../../src/signing/mac.ts";
import { FakePlane } from "./support/fake-plane.ts";

// How far a host takes its clock to be off, by which its machine is fit or not (workers.md#unfit-hosts).

const MINUTE = 60_000;
let plane: FakePlane;
beforeEach(async () => {
  plane = await new FakePlane().start();
  plane.secret = makeSalt();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await plane.close();
});

/** Sets the clock of this process to another time, as whoever sets the clock of a machine. */
function setClock(aheadMs: number): void {
  vi.restoreAllMocks();
  const realNow = Date.now.bind(Date);
  vi.spyOn(Date, "now").mockImplementation(() => realNow() + aheadMs);
}

test("is what a refusal has shown, and nothing once the clock is set right", async () => {
  const control = new ControlPlane({ key: keyOf(plane.secret), keyid: "w-1" });
  const errorMinutes = () => Math.round(control.clockErrorMs / MINUTE) || 0;
  expect(control.clockErrorMs).toBe(0);
  const answers = [{ status: 401, createdAt: Date.now() + 20 * MINUTE }, { status: 409 }];
  plane.override = () => answers.shift();
  const { signal } = new AbortController();
  await control.post(`${plane.url}/v1/hosts/w-1/join`, "join", "{}", signal).catch(() => undefined);
  expect([plane.calls.length, errorMinutes()]).toEqual([2, 20]);
  setClock(20 * MINUTE);
  expect(errorMinutes()).toBe(0);
  setClock(50 * MINUTE);
  expect(errorMinutes()).toBe(-30);
});
