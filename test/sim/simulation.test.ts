import { describe, expect, test } from "vitest";
import { MAX_KEPT_ASKED } from "../../src/core/worker/host/retained-data.ts";
import { MAX_STRANGERS_ASKED } from "../../src/probes/believed.ts";
import { durationMs } from "../../src/shared/duration.ts";
import { LAST_BYTE_MS } from "../../src/shared/limits.ts";
import { IS_LONG, sized } from "../chance/length.ts";
import type { Fault } from "./faults.ts";
import { DEFAULTS, simulate } from "./simulation.ts";
import { POOL } from "./workload.ts";

const STEPS = 2_000;
/** Until the word of a worker has reached a run, in milliseconds, where no message is lost. */
const ON_THE_WAY_MS = 5_000;
const LIARS = sized(6, 20);

describe("the simulation (rules.md#invariants, invariants 1, 2, 3, 4 and 9)", () => {
  test("tells the same story for the same seed", async () => {
    const [first, second] = [
      await simulate({ ...DEFAULTS, seed: 7, steps: STEPS }),
      await simulate({ ...DEFAULTS, seed: 7, steps: STEPS }),
    ];
    expect(second.story).toEqual(first.story);
    expect(first.story.length).toBeGreaterThan(50);
  });

  test("without faults every run ends as its command, user or limits say, and none is lost", async () => {
    for (let seed = 1; seed <= sized(6, 20); seed += 1) {
      const { violation, ends } = await simulate({
        ...DEFAULTS,
        seed,
        steps: STEPS,
        faults: [],
        hasJobs: false,
      });
      expect(violation?.message).toBeUndefined();
      expect(ends.unknown ?? 0).toBe(0);
      expect(Object.values(ends).reduce((sum, count) => sum + count, 0)).toBe(DEFAULTS.runs);
    }
  });

  test("without faults each signal and restart that was taken is done once", async () => {
    const all = ["a signal arrives", "restart done", "restart refused", "signal done", "signal refused"];
    const told = new Set<string>();
    for (let seed = 1; seed <= 60 && (IS_LONG || told.size < all.length); seed += 1) {
      const { violation, story } = await simulate({ ...DEFAULTS, seed, steps: STEPS, faults: [] });
      expect(violation?.message).toBeUndefined();
      for (const { text } of story) {
        const [asked] = /asks for a (signal|restart).*(done|refused)$/.exec(text)?.slice(1) ?? [];
        if (asked !== undefined) told.add(`${asked} ${text.slice(text.lastIndexOf(" ") + 1)}`);
        if (/gets SIG\w+, number/.test(text)) told.add("a signal arrives");
      }
    }
    expect([...told].sort()).toEqual(all);
  });

  test("an agent that is killed loses no run: its next start adopts what lives and ended", async () => {
    for (let seed = 1; seed <= sized(8, 30); seed += 1) {
      const { violation, ends } = await simulate({
        ...DEFAULTS,
        seed,
        steps: STEPS,
        faults: ["agentRestart"],
      });
      expect(violation?.message).toBeUndefined();
      expect(ends.unknown ?? 0).toBe(0);
    }
  });

  test("A3: a run whose order never reached its host is placed elsewhere once that is silent", async () => {
    const patienceMs = 3 * durationMs(POOL.probe.interval);
    const waits: number[] = [];
    for (let seed = 1; seed <= sized(10, 30); seed += 1) {
      const faults: Fault[] = ["silentBeforeOrder"];
      const setting = { rates: { silentBeforeOrder: 0.3 } };
      const { violation, ended } = await simulate({ ...DEFAULTS, seed, steps: STEPS, faults, setting });
      expect(violation?.message).toBeUndefined();
      for (const { placements } of ended.values()) {
        const refused = placements.filter(({ outcome }) => outcome === "refused");
        waits.push(...refused.map(({ from, to }) => (to ?? Infinity) - from));
      }
    }
    expect(waits.some((ms) => ms > ON_THE_WAY_MS)).toBe(true);
    expect(Math.max(...waits)).toBeLessThan(patienceMs + ON_THE_WAY_MS);
  });

  test("checks fail and pass, and restart tasks within their policies (health.md#restart)", async () => {
    const types = new Set<string>();
    // One story of about eighty has a check that fails for so long.
    for (let seed = 1; seed <= 400 && types.size < 3; seed += 1) {
      const { violation, ended } = await simulate({ ...DEFAULTS, seed, steps: STEPS });
      expect(violation?.message).toBeUndefined();
      for (const { events } of ended.values()) {
        for (const { type, details } of events) {
          const isOfCheck = type !== "Restart Signaled" || details.check !== undefined;
          if (/^(Healthy|Unhealthy|Restart Signaled)$/.test(type) && isOfCheck) types.add(type);
        }
      }
    }
    expect([...types].sort()).toEqual(["Healthy", "Restart Signaled", "Unhealthy"]);
  });

  test("X5: beside a host that lies no run of others is lost, and it costs what is stated", async () => {
    let reports = 0;
    for (let seed = 1; seed <= LIARS; seed += 1) {
      const setting = { rates: { liar: 1 } };
      const options = { ...DEFAULTS, seed, steps: STEPS, setting };
      const { violation, ends, lies, virtualMs } = await simulate({ ...options, faults: ["liar"] });
      expect(violation?.message).toBeUndefined();
      expect(ends.unknown ?? 0).toBe(0);
      const again = Math.ceil(virtualMs / LAST_BYTE_MS) * (MAX_STRANGERS_ASKED + MAX_KEPT_ASKED);
      const most = (lies?.reports ?? 0) * (MAX_STRANGERS_ASKED + MAX_KEPT_ASKED) + again;
      expect(lies?.asked).toBeLessThanOrEqual(most);
      expect(lies?.rows).toBe(0);
      reports += lies?.reports ?? 0;
    }
    expect(reports).toBeGreaterThan(800);
  });

  test("X5: a host that lies of its own runs too spoils those alone, and all of them end", async () => {
    const spoiled: Record<string, number> = {};
    for (let seed = 1; seed <= LIARS; seed += 1) {
      const setting = { rates: { liar: 1 }, liarHasRoom: true };
      const faults: Fault[] = ["liar"];
      const options = { ...DEFAULTS, seed, steps: STEPS, setting, faults, hasJobs: false };
      const { violation, ended, lies, onLiar } = await simulate(options);
      expect(violation?.message).toBeUndefined();
      expect(ended.size).toBe(DEFAULTS.runs);
      const others = [...ended.values()].filter(({ id }) => !onLiar.has(id));
      expect(others.filter(({ outcome }) => outcome?.state === "unknown")).toEqual([]);
      for (const id of onLiar) {
        const state = ended.get(id)?.outcome?.state ?? "none";
        spoiled[state] = (spoiled[state] ?? 0) + 1;
      }
      expect(lies?.rows).toBe(0);
    }
    expect(spoiled).toMatchObject({ complete: expect.any(Number), failed: expect.any(Number) });
  });

  test("what force leaves behind is paid for until a listing shows it (workers.md#kills)", async () => {
    const leftMs: number[] = [];
    for (let seed = 1; seed <= 10; seed += 1) {
      const faults: Fault[] = ["forcedKill", "forcedDeletion", "idleDestroy"];
      const setting = { rates: { forcedKill: 0.5, forcedDeletion: 0.1, idleDestroy: 0.7 } };
      const { violation, bill } = await simulate({ ...DEFAULTS, seed, steps: STEPS, faults, setting });
      expect(violation?.message).toBeUndefined();
      leftMs.push(...bill.map((one) => one.leftMs));
      expect(bill.every((one) => one.leftMs <= one.paidMs)).toBe(true);
    }
    expect(Math.max(...leftMs)).toBeGreaterThan(0);
  });

  test("every fault strikes: a fault that never happens would prove nothing", async () => {
    const marks = [
      "is lost",
      "the reply to",
      "its process dies",
      "is cut off",
      "agent is killed",
      "dies by itself",
      "refuses to create",
      "answer to its create call is lost",
      "a listing misses",
      "does nothing",
      "says nothing",
      "alarm is lost",
      "it takes no writes",
      "its disk is full",
      "drains it",
      "kills it by force",
      "kills it by name",
      "deletes it by force",
      "puts it again",
      "are lost",
      "falls silent",
      "the control plane is away",
      "the control plane's clock jumps",
      "its clock jumps ahead",
      "is going to lie",
      "its receiver is down",
      "works on its machine",
      "no room for it",
      "has an outage",
      "takes it back",
      "use up its calls",
      "(auth)",
    ];
    const told = new Set<string>();
    for (let seed = 1; seed <= 150 && told.size < marks.length; seed += 1) {
      const { story } = await simulate({ ...DEFAULTS, seed, steps: STEPS });
      for (const mark of marks) if (story.some(({ text }) => text.includes(mark))) told.add(mark);
    }
    expect([...told].sort()).toEqual([...marks].sort());
  });
});
