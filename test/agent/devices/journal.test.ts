import { expect, onTestFinished, test, vi } from "vitest";
import type { Supervisor } from "../../../agent/exec/supervisor.ts";
import { HostAgent } from "../../../agent/host-agent.ts";
import type { Tunnels } from "../../../agent/tunnels/tunnels.ts";
import { gpu, hostWith, needs } from "../core/devices/gpus.ts";
import { run } from "../core/drive.ts";

// A disk that takes no journal: what is not in it must not start, or the next start of the agent would give
// the same device away again (devices.md#assignment).

test.each([
  ["a task with a GPU does not start", 1, []],
  ["a task without one starts", 0, ["start"]],
])("while the journal cannot be written, %s (devices.md#assignment)", (_what, gpus, started) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const host = hostWith(gpu("g0")).order([run("a/main/1.1", { task: needs(gpus) })]);
  const performed: string[] = [];
  let isWritten = false;
  const supervisor = {
    perform: ({ kind }: { kind: string }) => void performed.push(kind),
    keepTransfers: () => undefined,
  };
  const agent = new HostAgent(host.state, {
    now: () => host.now,
    supervisor: supervisor as unknown as Supervisor, // only these are called for what is due here
    tunnels: { look: () => undefined } as unknown as Tunnels, // nothing else is called either
    keep: () => isWritten,
    awakeFile: undefined,
    exit: () => expect.unreachable(),
  });
  const starts = () => performed.splice(0).filter((kind) => kind === "start");
  agent.tell({ type: "tick" });
  expect(starts()).toEqual(started);
  isWritten = true;
  agent.tell({ type: "tick" });
  expect(starts()).toEqual(["start"]);
});
