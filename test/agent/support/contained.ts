// Attempts in containers, for tests of the agent with an engine that is real or a fake.
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Container } from "../../../src/schema/run/container.ts";
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import { type Bench, run } from "./bench.ts";

/** The attempt of most tests. */
export const ID = "build-17/main/1.1";

/** A container as the schema fills it in. */
export function contained(image: string, more: Partial<Container> = {}): Container {
  return { image, pull: "missing", network: "host", init: true, ...more };
}

/** The name of an attempt's container. */
export function nameOf({ stateDir }: Pick<Bench, "stateDir">, id = ID): string {
  return `drover-${hostOf(stateDir)}-${id.replaceAll("/", "_")}`;
}

/** By which a host knows its containers. */
export function hostOf(stateDir: string): string {
  return createHash("sha256").update(stateDir).digest("hex").slice(0, 12);
}

/** A file in the directory of the attempt's task, which the container sees as well. */
export function fileOf({ stateDir }: Pick<Bench, "stateDir">, name: string): string {
  return join(stateDir, "allocs", "build-17_1", "main", "local", name);
}

/** Waits in the task's directory for a file. */
export const waitFor = (name: string) => `while ! [ -e ${name} ]; do sleep 0.02; done`;

/** What has become of an attempt, logs and all. */
export async function endOf({ plane }: Pick<Bench, "plane">, id = ID) {
  const attempt = await plane.untilStored(id);
  const text = (stream: "stdout" | "stderr") => plane.stored(id, stream).toString("utf8");
  return { attempt, exit: attempt.exit, stdout: text("stdout"), stderr: text("stderr") };
}

/** Runs one command in a container to its end. */
export async function runToEnd(
  bench: Bench,
  argv: string[],
  container: Container,
  more: Partial<TaskSpec> = {},
) {
  bench.plane.order([run(ID, argv, { ...more, container })]);
  return endOf(bench);
}
