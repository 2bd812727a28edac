// What is `npm run profile` to look at, and how closely?
import { parseArgs } from "node:util";
import { countOf } from "../options.ts";

export interface ProfileOptions {
  help: boolean;
  /** One of the two agents, instead of the control plane. */
  agent: boolean;
  /** The runs are an array. */
  array: boolean;
  runs: number;
  /** The file of the profile. */
  out: string;
  /** How many functions each table has. */
  top: number;
  /** Microseconds between two samples. */
  everyUs: number;
}

export const HELP = `Shows what the control plane does during a batch: tables, and a file for browsers.

  npm run profile
  npm run profile -- --agent --runs 300

  --agent       one of the two agents instead
  --array       the runs are an array
  --runs N      runs of the batch (default 1000)
  --top N       functions in each table (default 25)
  --every-us N  microseconds between two samples (default 500)
  --out FILE    the profile (default control-plane.cpuprofile, or agent.cpuprofile)`;

/** The options of a command line. Throws an error that says what is wrong with it. */
export function profileOptions(args: string[]): ProfileOptions {
  const flag = { type: "boolean", default: false } as const;
  const text = (value: string) => ({ type: "string", default: value }) as const;
  const { values } = parseArgs({
    args,
    options: {
      ...{ help: flag, agent: flag, array: flag, out: { type: "string" } },
      ...{ runs: text("1000"), top: text("25"), "every-us": text("500") },
    },
  });
  const { help, agent, array, out, runs, top, "every-us": everyUs } = values;
  return {
    ...{ help, agent, array, out: out ?? (agent ? "agent.cpuprofile" : "control-plane.cpuprofile") },
    ...{ runs: countOf("runs", runs), top: countOf("top", top), everyUs: countOf("every-us", everyUs) },
  };
}
