// What does the machine allow at best? Each of these is a part of what every run costs Drover.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { startBareWorker } from "./bare.ts";
import { AT_ONCE, type Contender, secondsOf } from "./contender.ts";

/** How many requests wait at a time: as many as keep workerd busy. */
const REQUESTS_AT_ONCE = 16;
/** The start of `true` from Node, without a queue. */
export const bareSpawn: Contender = {
  name: "floor: spawn of true from Node",
  run: (count) => secondsOf(count, AT_ONCE, () => once(spawn("true", { stdio: "ignore" }), "exit")),
  stop: async () => {},
};

/** A new object with one write for each run, and a request that does nothing, in the workerd of Drover. */
export async function bareWorker(dir: string): Promise<Contender[]> {
  const { ask, stop } = await startBareWorker(dir);
  return [
    {
      name: "floor: a new object with one write",
      run: (count) => secondsOf(count, REQUESTS_AT_ONCE, () => ask("object")),
      stop,
    },
    {
      name: "floor: an empty request",
      run: (count) => secondsOf(count, REQUESTS_AT_ONCE, () => ask("")),
      stop: async () => {},
    },
  ];
}
