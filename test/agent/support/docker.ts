// An agent's bench whose engine answers as Docker does, also where no real one can be made to.
import { expect } from "vitest";
import type { HostEngine } from "../../../src/schema/host.ts";
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import { until } from "../../local/support/scratch.ts";
import { type Bench, openBench, type RunningAgent, run } from "./bench.ts";
import { contained, type endOf, ID, nameOf, runToEnd } from "./contained.ts";
import { type FakeContainer, fakeImage } from "./fake-containers.ts";
import { type FakeEngine, type FakeEngineOptions, openFakeEngine } from "./fake-engine.ts";

/** The image that the engine has. */
export const IMAGE = "busybox:1";
export const CONTAINER = contained(IMAGE);

/** Whether an agent of this user takes containers at all: `describe.skipIf(!isRoot)`. */
export const isRoot = process.geteuid?.() === 0;

export interface Docker {
  fake: FakeEngine;
  bench: Bench;
  start(): RunningAgent;
  /** Orders the attempt, in a container of `IMAGE`. */
  order(more?: Partial<TaskSpec>): void;
  /** The same, to its end. */
  run(more?: Partial<TaskSpec>): ReturnType<typeof endOf>;
  /** A container that runs, of which its command has said `ready`. */
  ready(): Promise<FakeContainer>;
  /** The engine as the agent tells of it, once it is so. */
  engineThat(is: (engine: HostEngine) => boolean): Promise<HostEngine>;
  close(): Promise<void>;
}

/** Opens one. By default its containers write `out` and `err`, and end. */
export async function openDocker(options: FakeEngineOptions = {}): Promise<Docker> {
  const fake = await openFakeEngine(options);
  fake.images.push(fakeImage(IMAGE));
  fake.plays.set("*", { output: ["out\n", { stderr: "err\n" }], exitCode: 0 });
  const bench = await openBench();
  const { plane } = bench;
  return {
    fake,
    bench,
    start: () => bench.start({}, ["--engine", fake.socketPath]),
    order: (more = {}) => plane.order([run(ID, ["true"], { ...more, container: CONTAINER })]),
    run: (more = {}) => runToEnd(bench, ["true"], CONTAINER, more),
    async ready() {
      await plane.until("it says that it is ready", () => plane.stored(ID).includes("ready"));
      return fake.container(nameOf(bench));
    },
    engineThat: (is) =>
      plane.until("the engine is so", () => {
        const engine = plane.reports.at(-1)?.means?.engine;
        return engine !== undefined && is(engine) && engine;
      }),
    async close() {
      await bench.close();
      await fake.close();
      expect(plane.faults).toEqual([]);
    },
  };
}

/** A container that runs. */
export function running({ fake }: Docker): Promise<FakeContainer> {
  return until("a container runs", () => fake.containers.find((one) => one.running));
}
