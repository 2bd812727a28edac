import { describe, expect, test } from "vitest";
import { changed } from "../../../src/core/allocation/draft.ts";
import type { AllocationEvent } from "../../../src/core/allocation/machine.ts";
import { MAX_RUN_EVENTS } from "../../../src/shared/limits.ts";
import {
  abort,
  ended,
  existing,
  exited,
  FIRST,
  observed,
  ordered,
  place,
  pool,
  queued,
  REF,
  runAt,
  running,
  type Submitted,
  started,
  T0,
} from "../support/allocation.ts";

const types = ({ record }: Submitted) => record.events.map((event) => event.type);

const artifacts = [{ url: "https://a.example/b", sha256: "0".repeat(64), to: "." }];
const withArtifact = {
  argv: undefined,
  tasks: [{ name: "main", argv: ["true"], artifacts }],
  reschedule: { attempts: 0 },
};

// Names and meanings: tasks.md#events.
describe("a run's story in events", () => {
  const LATER = T0 + 5_000;
  const stories: [string, Submitted, AllocationEvent[], string[]][] = [
    [
      "it runs to its end",
      ordered(),
      [observed([running]), observed([exited()])],
      ["Received", "Placed", "Started", "Terminated"],
    ],
    [
      "it starts and ends between two reports",
      ordered(),
      [observed([exited()])],
      ["Received", "Placed", "Started", "Terminated"],
    ],
    [
      "its secrets are on a disk there (tasks.md#event-secrets-on-disk)",
      ordered(),
      [observed([{ ...running, secretsOnDisk: true }]), observed([exited()])],
      ["Received", "Placed", "Started", "Secrets On Disk", "Terminated"],
    ],
    [
      "it is aborted while it runs",
      started(),
      [abort(), observed([exited()])],
      ["Received", "Placed", "Started", "Killing", "Terminated", "Killed"],
    ],
    [
      "it is aborted in the queue",
      queued(),
      [abort(), pool(2, { kind: "none", version: 2 })],
      ["Received", "Killing"],
    ],
    [
      "its command is not found",
      ordered(),
      [observed([{ id: FIRST, state: "exited", startError: { code: "command_not_found", text: "no" } }])],
      ["Received", "Placed", "Driver Failure"],
    ],
    [
      // tasks.md#event-downloading-artifacts, tasks.md#event-failed-artifact-download
      "tasks.md#change-2, tasks.md#hook-note-2: artifacts",
      ordered(withArtifact),
      [
        observed([{ id: FIRST, state: "preparing" }]),
        observed([{ id: FIRST, state: "exited", startError: { code: "artifact_failed", text: "no" } }]),
      ],
      ["Received", "Placed", "Downloading Artifacts", "Failed Artifact Download", "Not Restarting"],
    ],
    [
      "N2: its artifacts are refused before the first report",
      ordered(withArtifact),
      [observed([{ id: FIRST, state: "exited", startError: { code: "artifact_failed", text: "no" } }])],
      ["Received", "Placed", "Downloading Artifacts", "Failed Artifact Download", "Not Restarting"],
    ],
    [
      "N2: its artifacts are there before the first report",
      ordered(withArtifact),
      [observed([running]), observed([exited()])],
      ["Received", "Placed", "Downloading Artifacts", "Started", "Terminated"],
    ],
    [
      "N2: it is heard of at its end only",
      ordered(withArtifact),
      [observed([exited()])],
      ["Received", "Placed", "Downloading Artifacts", "Started", "Terminated"],
    ],
    [
      "N2: it waits for its time first, and is told once",
      ordered(withArtifact),
      [
        observed([{ id: FIRST, state: "preparing", waits: true }]),
        observed([running]),
        observed([running]),
        observed([exited()]),
      ],
      ["Received", "Placed", "Downloading Artifacts", "Started", "Terminated"],
    ],
    [
      "N2: its user is not there: nothing was fetched",
      ordered(withArtifact),
      [observed([{ id: FIRST, state: "exited", startError: { code: "user_not_found", text: "no" } }])],
      ["Received", "Placed", "Driver Failure", "Not Restarting"],
    ],
    [
      "it has no artifacts: that it is prepared is no event",
      ordered(),
      [observed([{ id: FIRST, state: "preparing" }]), observed([running])],
      ["Received", "Placed", "Started"],
    ],
    ["its worker is lost", started(), [ended("lost")], ["Received", "Placed", "Started", "Placement Ended"]],
    [
      "nothing is left of it",
      started(),
      [observed([{ id: FIRST, state: "gone" }])],
      ["Received", "Placed", "Started", "Lost"],
    ],
    [
      "it is refused, and placed again",
      ordered(),
      [ended("refused", { held: false }), place("w2", 2, 2)],
      ["Received", "Placed", "Placement Ended"],
    ],
  ];

  test.each(stories)("%s", (_what, before, events, expected) => {
    expect(types(runAt(before, LATER, ...events))).toEqual(expected);
  });

  // tasks.md#history-6, tasks.md#event-terminated
  test("an exit says its code, its signal and whether memory was short", () => {
    const exit = { code: null, signal: "SIGKILL", oomKilled: true, message: "out of memory" };
    const { record } = runAt(started(), LATER, observed([{ ...exited(), exit }]));
    expect(record.events.at(-1)).toMatchObject({
      task: "main",
      at: new Date(LATER).toISOString(),
      message: "signal SIGKILL, out of memory",
      details: { exit_code: "", signal: "SIGKILL", oom_killed: "true" },
    });
  });

  test("an abort says by whom and why", () => {
    expect(runAt(started(), LATER, abort()).record.events.at(-1)).toMatchObject({
      type: "Killing",
      message: "enough",
      details: { by: "ann" },
    });
  });
});

// decisions/runs.md#events-kept
describe("a run keeps its latest MAX_RUN_EVENTS events, and counts the others", () => {
  const filledTo = (count: number) => {
    const state = changed(queued(), T0, (run) => {
      for (let i = run.record.events.length; i < count; i += 1) run.note("Started", T0 + i, `n ${i}`);
    });
    return existing(state).record;
  };

  test("up to the bound nothing is dropped", () => {
    const record = filledTo(MAX_RUN_EVENTS);
    expect(record.events).toHaveLength(MAX_RUN_EVENTS);
    expect(record.eventsDropped).toBe(0);
    expect(record.events[0]).toMatchObject({ seq: 1, type: "Received" });
  });

  test.each([1, 2, 10])("%d beyond it, and so many of the oldest are gone", (beyond) => {
    const record = filledTo(MAX_RUN_EVENTS + beyond);
    expect(record.events).toHaveLength(MAX_RUN_EVENTS);
    expect(record.eventsDropped).toBe(beyond);
    expect(record.events[0]?.seq).toBe(beyond + 1);
    expect(record.events.at(-1)?.seq).toBe(MAX_RUN_EVENTS + beyond);
  });
});

// tasks.md#no-change
test("each visible change is one version, without gaps, an event without a change none (R1)", () => {
  const steps: AllocationEvent[] = [
    place(),
    observed([{ id: FIRST, state: "preparing" }]),
    observed([running]),
    observed([running]),
    { type: "tick" },
    { type: "poke_run", body: REF },
    abort(),
    abort(),
    observed([exited()]),
    observed([exited()]),
  ];
  let state = queued();
  const versions = steps.map((event) => {
    state = runAt(state, T0 + 1, event);
    return state.record.version;
  });
  // Being placed is stored by the pool alone: the first report of the placement stores it here.
  expect(versions).toEqual([1, 2, 3, 3, 3, 3, 4, 4, 5, 5]);
});
