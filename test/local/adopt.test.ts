import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { LoopbackCloud } from "../../local/loopback/cloud.ts";
import type { Entry } from "../../local/loopback/ledger.ts";
import { readProc } from "../../posix/proc.ts";
import { creation, runs, startCloud, type TestCloud } from "./support/cloud.ts";
import { pidOf, scratchDir, until } from "./support/scratch.ts";

/** Two processes, of which the second tells its pid. */
const TWO = "sleep 1000 & echo $! >second.pid; wait\n";

const ledgerOf = (dir: string) => join(dir, "instances.json");

function entriesOf(dir: string): Entry[] {
  return JSON.parse(readFileSync(ledgerOf(dir), "utf8")).instances;
}

function writeEntries(dir: string, instances: object[]): void {
  writeFileSync(ledgerOf(dir), JSON.stringify({ version: 1, instances }));
}

/** A machine of a cloud that is then taken for dead: its successor on the same directory adopts. */
async function machineOf(first: TestCloud, token = "w1") {
  const { id } = await first.create(token, TWO);
  return { id, second: Number(await first.written(id, "second.pid")) };
}

/** The next cloud on a directory, with what it had to say. */
async function nextOn(dir: string) {
  const problems: string[] = [];
  const cloud = new LoopbackCloud({ dir, onProblem: (text) => problems.push(text) });
  await cloud.adopt();
  onTestFinished(() => cloud.endAll());
  return { cloud, problems, stateOf: (id: string) => cloud.list().find((one) => one.id === id)?.state };
}

/** Something that carries the mark of an instance and is none of its processes. */
function startMarked(home: string): ChildProcess {
  const child = spawn("sleep", ["1000"], { env: { DROVER_INSTANCE: home }, detached: true, stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

describe("the next cloud on a directory adopts the machines that live (issue 3, item 6)", () => {
  it("lets them go on under their id and token, and touches none of their processes", async () => {
    const first = await startCloud();
    const { id, second } = await machineOf(first);
    const { cloud, problems, stateOf } = await nextOn(first.dir);
    expect([cloud.living().length, stateOf(id), runs(second), problems]).toEqual([1, "running", true, []]);
    expect(cloud.create(creation("w1", TWO))).toMatchObject({ id, state: "running" });
  });

  it("sees their end, though they are no children of it, and ends what is left of them", async () => {
    const first = await startCloud();
    const { id, second } = await machineOf(first);
    const [entry] = entriesOf(first.dir);
    const { stateOf } = await nextOn(first.dir);
    process.kill(pidOf(entry?.root), "SIGKILL");
    await until("it is terminated", () => stateOf(id) === "terminated");
    expect(runs(second)).toBe(false);
  });

  it("destroys them when it is asked to", async () => {
    const first = await startCloud();
    const { id, second } = await machineOf(first);
    const { cloud, stateOf } = await nextOn(first.dir);
    expect(cloud.destroy(id)).toBe(true);
    await until("it is terminated", () => stateOf(id) === "terminated");
    expect(runs(second)).toBe(false);
  });

  const notAlive: [string, (entry: Entry, home: string) => object][] = [
    ["whose pid has another start time", ({ root }) => ({ root: { ...root, startTime: 1 } })],
    ["whose pid is a stranger's", () => ({ root: readProc(process.pid) })],
    ["whose first process was not written down", () => ({ root: undefined, state: "pending" })],
    ["that was to end", () => ({ state: "stopping" })],
  ];
  it.each(notAlive)("ends one %s, lists it as terminated, and leaves others alone", async (_, change) => {
    const first = await startCloud();
    const broken = await machineOf(first);
    const whole = await machineOf(first, "w2");
    writeEntries(
      first.dir,
      entriesOf(first.dir).map((entry) =>
        entry.id === broken.id ? { ...entry, ...change(entry, first.dir) } : entry,
      ),
    );
    const { stateOf } = await nextOn(first.dir);
    expect([stateOf(broken.id), runs(broken.second)]).toEqual(["terminated", false]);
    expect([stateOf(whole.id), runs(whole.second)]).toEqual(["running", true]);
  });

  it("lists one that died meanwhile as terminated, so that its end is seen and not inferred", async () => {
    const dir = scratchDir();
    mkdirSync(join(dir, "instances"));
    const entry = { ...creation("w1", ""), id: "lo-0000000000000001", address: null, createdAt: "" };
    writeEntries(dir, [{ ...entry, state: "running", root: { pid: 1, startTime: 1 } }]);
    const { stateOf } = await nextOn(dir);
    expect(stateOf("lo-0000000000000001")).toBe("terminated");
    expect(entriesOf(dir)).toMatchObject([{ id: "lo-0000000000000001", state: "terminated" }]);
  });

  it("ends what carries a mark of the directory and is in no ledger, and nobody else's", async () => {
    const first = await startCloud();
    const { second } = await machineOf(first);
    const stray = startMarked(join(first.dir, "instances", "lo-unlisted"));
    const other = startMarked(join(`${first.dir}-other`, "instances", "lo-unlisted"));
    await nextOn(first.dir);
    await until("the stray is gone", () => !runs(stray.pid ?? 0));
    expect([runs(other.pid ?? 0), runs(second)]).toEqual([true, true]);
  });

  const ledgers: [string, (text: string) => string][] = [
    ["is half written", (text) => text.slice(0, text.length / 2)],
    ["is empty", () => ""],
    ["is of another kind", () => '{"version":99}'],
  ];
  it.each(ledgers)("makes a ledger again that %s, and adopts all the same", async (_, spoil) => {
    const first = await startCloud();
    const { id, second } = await machineOf(first);
    writeFileSync(ledgerOf(first.dir), spoil(readFileSync(ledgerOf(first.dir), "utf8")));
    const { cloud, stateOf, problems } = await nextOn(first.dir);
    expect([stateOf(id), runs(second)]).toEqual(["running", true]);
    expect(problems).toEqual([expect.stringContaining(ledgerOf(first.dir))]);
    expect(cloud.create(creation("w1", TWO)).id).toBe(id);
  });

  it("leaves them alone when it lets go, for the one after it", async () => {
    const first = await startCloud();
    const { id, second } = await machineOf(first);
    const { cloud } = await nextOn(first.dir);
    cloud.detach();
    const { stateOf } = await nextOn(first.dir);
    expect([stateOf(id), runs(second)]).toEqual(["running", true]);
  });
});
