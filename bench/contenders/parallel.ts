// GNU parallel, which has no queue that outlives it.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { AT_ONCE, type Peer } from "./contender.ts";
import { programAt } from "./programs.ts";

/** GNU parallel: what a loop in a shell would use. */
export const parallel: Peer = {
  name: "GNU parallel",
  missing: () => (isGnu() ? undefined : "apt-get install parallel"),
  start: async () => ({
    name: "GNU parallel",
    async run(count) {
      const beganAt = performance.now();
      const script = `seq ${count} | parallel --will-cite -j${AT_ONCE} -n0 true`;
      const [code] = await once(spawn("sh", ["-c", script], { stdio: "ignore" }), "exit");
      if (code !== 0) throw new Error(`parallel ended with ${code}`);
      return (performance.now() - beganAt) / 1_000;
    },
    stop: async () => {},
  }),
};

/** Another program of that name is in Debian's `moreutils`. */
function isGnu(): boolean {
  if (programAt("parallel") === undefined) return false;
  return spawnSync("parallel", ["--version"], { encoding: "utf8" }).stdout.startsWith("GNU parallel");
}
