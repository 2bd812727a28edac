import { readFileSync, rmSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { FAKE_CLOUDS } from "../../local/fake-clouds.ts";
import { listProcs, lives, type Proc } from "../../posix/proc.ts";
import { drover, endDrover, makeHome, startDrover } from "../edge/support/drover.ts";
import { until } from "../local/support/scratch.ts";

// `drover up --cloud ec2-fake`: a pool of each kind of cloud, with one command (clouds.md#fakes).

test.each(FAKE_CLOUDS)(
  "--cloud %s adds a pool that runs commands, and goes on after SIGKILL",
  async (name) => {
    const home = makeHome(name);
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const run = (code: number) => drover(home, ["run", "--pool", name, "--", "sh", "-c", `exit ${code}`]);
    const first = await startDrover(home, {}, [], ["--cloud", name]);
    onTestFinished(() => endDrover(home, first));
    expect(first.said()).toContain(`drover run --pool ${name} -- uname -a`);
    expect(await run(7)).toMatchObject({ code: 7 });
    const fake = fakeOf(home);
    process.kill(first.pid, "SIGKILL");
    await first.ended;
    await until("the fake has ended, too", () => !lives(fake) || undefined);
    const second = await startDrover(home, {}, [], ["--cloud", name]);
    onTestFinished(() => endDrover(home, second));
    expect(await run(8)).toMatchObject({ code: 8 });
    const fakeNow = fakeOf(home);
    expect(await second.stop()).toBe(0);
    expect(lives(fakeNow)).toBe(false);
  },
);

/** The process of the fake of a home. */
function fakeOf(home: string): Proc {
  const isFake = ({ pid }: Proc) => {
    const args = commandLine(pid).split("\0");
    return (
      args.some((arg) => arg.endsWith("test/clouds/main.ts")) && args.some((arg) => arg.startsWith(home))
    );
  };
  const fake = listProcs().find(isFake);
  if (fake === undefined) throw new Error(`no fake of a cloud runs in ${home}`);
  return fake;
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // It has ended.
  }
}
