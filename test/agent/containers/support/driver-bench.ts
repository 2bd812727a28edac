// A driver of containers with a fake engine, without an agent around it.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ContainerNames } from "../../../../agent/containers/names.ts";
import { noteOf, STARTING } from "../../../../agent/containers/note.ts";
import { ContainerDriver, type ContainerDriverOptions } from "../../../../agent/drivers/container.ts";
import type { TaskEnd } from "../../../../agent/drivers/driver.ts";
import type { ImageFacts } from "../../../../agent/engine/types.ts";
import { AllocDirs } from "../../../../agent/exec/files/alloc-dirs.ts";
import { AttemptStore } from "../../../../agent/exec/processes/dirs.ts";
import { Groups } from "../../../../agent/exec/processes/groups.ts";
import type { TaskSpec } from "../../../../src/schema/run/run.ts";
import { task } from "../../support/bench.ts";
import { contained, ID } from "../../support/contained.ts";
import { FakeContainer, fakeImage, type Play } from "../../support/fake-containers.ts";
import { type FakeEngine, openFakeEngine } from "../../support/fake-engine.ts";

/** The image that the engine has. */
const IMAGE = "busybox:1";
const IMAGE_FACTS: ImageFacts = {
  id: fakeImage(IMAGE).id,
  repoTags: [IMAGE],
  repoDigests: [],
  architecture: "amd64",
  os: "linux",
  sizeBytes: 1,
  config: { entrypoint: [], cmd: [], env: [], user: "", workingDir: "", stopSignal: "" },
};

export interface DriverBench {
  dir: string;
  /** Of the attempt's task. */
  taskDir: string;
  fake: FakeEngine;
  store: AttemptStore;
  names: ContainerNames;
  ends: TaskEnd[];
  /** A driver; more than one may know of the same attempts, as after a restart of the agent. */
  driver(more?: Partial<ContainerDriverOptions>): ContainerDriver;
  /** A container that an earlier agent has started. `more`: what it has noted since. */
  begun(play?: Play, more?: string): FakeContainer;
  task(more?: Partial<TaskSpec>): TaskSpec;
  close(): Promise<void>;
}

/** Opens one. */
export async function openDriverBench(): Promise<DriverBench> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "drover-driver-")));
  const fake = await openFakeEngine();
  fake.images.push(fakeImage(IMAGE));
  fake.plays.set("*", {});
  const store = new AttemptStore(dir);
  const names = new ContainerNames(dir, "boot-1");
  const groups = new Groups(dir, []);
  const allocs = new AllocDirs(dir);
  const ends: TaskEnd[] = [];
  const facts = await fake.engine.open();
  return {
    dir,
    taskDir: allocs.of(ID).local,
    fake,
    store,
    names,
    ends,
    driver: (more = {}) =>
      new ContainerDriver({
        store,
        allocs,
        groups,
        names,
        prestart: {
          contained: async () => ({ argv: ["true"], env: {}, dir: allocs.make(ID).local, shared: [] }),
          give: async () => undefined,
        },
        engine: () => ({ engine: fake.engine, facts }),
        known: () => fake.engine,
        isUsable: () => true,
        isBeside: false,
        found: undefined,
        imageOf: async () => IMAGE_FACTS,
        devicesOf: () => [],
        now: () => Math.round(performance.now()),
        ended: (_, end) => ends.push(end),
        ...more,
      }),
    begun(play = {}, more = "") {
      store.claim(ID);
      const body = { Image: IMAGE, Labels: names.labelsOf(ID) };
      const container = new FakeContainer(names.of(ID), body, play, IMAGE_FACTS.id);
      fake.containers.push(container);
      container.start();
      writeFileSync(store.dirsOf(ID).container, noteOf(fake.socketPath) + STARTING + more);
      return container;
    },
    task: (more = {}) => task(["true"], { container: contained(IMAGE), ...more }),
    async close() {
      await fake.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
