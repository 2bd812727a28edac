import { describe, expect, it, onTestFinished, test, vi } from "vitest";
import { ticker } from "../../local/runtime/ticker.ts";

describe("the ticks of cron triggers, which Miniflare does not give", () => {
  it("come at once, and then at their interval until they are stopped", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const fired: string[] = [];
    const stop = ticker(
      ["*/5 * * * *", "*/7 * * * *"],
      async (cron) => void fired.push(cron),
      () => {},
    );
    const count = () => fired.map((cron) => cron[2]).join("");
    expect(count()).toBe("57");
    await vi.advanceTimersByTimeAsync(15 * 60_000);
    expect(count()).toBe("57575" + "75");
    stop();
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    expect(count()).toBe("5757575");
  });

  it("go on after one that failed, which is told", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const problems: string[] = [];
    const fail = async () => Promise.reject(new Error("asleep"));
    const stop = ticker(["*/1 * * * *"], fail, (text) => problems.push(text));
    await vi.advanceTimersByTimeAsync(60_000);
    stop();
    expect(problems).toHaveLength(2);
    expect(problems[0]).toMatch(/asleep/);
  });

  test("P31: one that is under way when they are stopped may fail, and nobody is told", async () => {
    const problems: string[] = [];
    let fail = (_: Error) => {};
    const underWay = () => new Promise<void>((_, reject) => (fail = reject));
    const stop = ticker(["*/5 * * * *"], underWay, (text) => problems.push(text));
    stop();
    fail(new Error("ERR_DISPOSED"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(problems).toEqual([]);
  });

  it.each(["0 3 * * *", "*/0 * * * *", "* * * * *", ""])("refuse %j rather than never come", (cron) => {
    expect(() =>
      ticker(
        [cron],
        async () => {},
        () => {},
      ),
    ).toThrow(/Only crons such as/);
  });
});
