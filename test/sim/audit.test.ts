import { afterEach, describe, expect, test, vi } from "vitest";
import { sized } from "../chance/length.ts";
import { BUGS } from "./bugs.ts";
import { MachineAudit } from "./machine-audit.ts";
import { DEFAULTS, simulate } from "./simulation.ts";

const STEPS = 2_000;
/** Seeds whose stories break an invariant of machines with these bugs. */
const FAILING = [
  { bug: "trusting one listing", seed: 6 },
  { bug: "no epoch check", seed: 1 },
  { bug: "machines of everybody", seed: 1 },
];

afterEach(() => void vi.restoreAllMocks());

describe("an audit that looks only at what has changed (shell.md#what-the-simulator-holds)", () => {
  test("overlooks nothing that a look at everything finds", { timeout: 1_800_000 }, async () => {
    for (let seed = 1; seed <= sized(6, 200); seed += 1) {
      const { violation } = await simulate({ ...DEFAULTS, seed, steps: STEPS, looksAtAll: true });
      expect(violation?.message, `seed ${seed}`).toBeUndefined();
    }
  });

  test.each(FAILING)('finds "$bug" at the same step', async ({ bug, seed }) => {
    const options = { ...DEFAULTS, seed, steps: STEPS, machines: BUGS[bug] ?? DEFAULTS.machines };
    const [some, all] = [await simulate(options), await simulate({ ...options, looksAtAll: true })];
    expect(some.violation?.message).toBeDefined();
    expect([some.violation?.message, some.steps]).toEqual([all.violation?.message, all.steps]);
  });

  test("would be found out if it were not told of a change", async () => {
    vi.spyOn(MachineAudit.prototype, "changed").mockReturnValue();
    const { violation } = await simulate({ ...DEFAULTS, seed: 1, steps: STEPS, looksAtAll: true });
    expect(violation?.message).toMatch(/^audit: /);
  });
});
