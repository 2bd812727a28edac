import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ticker } from "../../local/ticker.ts";

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
