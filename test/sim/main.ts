import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { CHAOS_RUNS, chaos, idleness, wrongWith } from "./chaos.ts";
import { shortest, tellStory } from "./shrink.ts";
import { DEFAULTS, type Options, simulate } from "./simulation.ts";
import { Tally } from "./tally.ts";
import { type Told, tellAll } from "./team.ts";
import { SHORT_RUNS } from "./workload.ts";

/** How often a long run says how far it is. */
const PROGRESS_MS = 10_000;
/** In a long story there is another run for each so many steps: about as many as a run takes. */
const STEPS_OF_A_RUN = 400;

const HELP = `Runs the simulator: the real machines and shell over a fake clock, network, cloud and disk.

  npm run sim                              seeds 1, 2, 3 … for a minute
  npm run sim -- --seed 7 --steps 100000   one story
  npm run sim -- --from 1 --to 1000        a range of seeds
  npm run sim -- --steps-total 1e8         seeds 1, 2, 3 … until there were so many steps, for a release

  --steps N   steps with faults before everything must come to its end (default 2000)
  --runs N    runs that are submitted (default ${DEFAULTS.runs}, or one for every ${STEPS_OF_A_RUN} steps)
  --within N  seconds within which they are submitted (default 120, and 60 for each run beyond ${SHORT_RUNS})
  --seconds N how long to go on without --seed, --to and --steps-total (default 60)
  --threads N stories that are told at once (default: one for each core)
  --audit-all after each step, look at everything, and not only at what has changed: nothing may be overlooked
  --chaos     stories of ${CHAOS_RUNS} runs on a cloud and machines with every trouble (test/sim/chaos.ts)
  --story     tell the story of a seed that held, too

It says every few seconds how far it is. After Ctrl-C it says with which options it goes on from there.`;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    from: { type: "string", default: "1" },
    to: { type: "string" },
    steps: { type: "string", default: "2000" },
    "steps-total": { type: "string" },
    runs: { type: "string" },
    within: { type: "string" },
    seconds: { type: "string", default: "60" },
    threads: { type: "string" },
    "audit-all": { type: "boolean", default: false },
    chaos: { type: "boolean", default: false },
    story: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const from = Number(values.seed ?? values.from);
const to = Number(values.seed ?? values.to ?? Number.POSITIVE_INFINITY);
const stepsTotal = Number(values["steps-total"] ?? Number.POSITIVE_INFINITY);
const isBounded = Number.isFinite(to) || Number.isFinite(stepsTotal);
const until = isBounded ? Number.POSITIVE_INFINITY : Date.now() + Number(values.seconds) * 1_000;

if (values.help) console.log(HELP);
else process.exitCode = await (values.chaos ? exploreChaos() : explore());

/** Tells stories until one fails, or the range, the steps or the time are over. The exit code. */
async function explore(): Promise<number> {
  const options = optionsOf(from);
  if (values.story) return tellOne(options);
  const tally = new Tally(from, Date.now());
  let seed = from;
  let isInterrupted = false;
  let failed: Told | undefined;
  const isOver = () =>
    isInterrupted || failed !== undefined || seed > to || tally.steps >= stepsTotal || Date.now() >= until;
  process.once("SIGINT", () => {
    isInterrupted = true; // what was begun is told to its end
  });
  const progress = setInterval(() => console.error(`… ${tally.line(Date.now())}`), PROGRESS_MS);
  const threads = Number(values.threads ?? Math.min(availableParallelism(), to - from + 1));
  const next = () => (isOver() ? undefined : taleOf(optionsOf(seed++)));
  await tellAll(threads, next, (told) => {
    if (told.violation === undefined) tally.held(told);
    else if (failed === undefined || told.seed < failed.seed) failed = told;
  });
  clearInterval(progress);
  if (failed !== undefined) return explain(optionsOf(failed.seed));
  console.log(`${tally.line(Date.now())}; stories of ${options.steps} steps held`);
  console.log(`their runs ended: ${tally.ends()}`);
  if (isInterrupted) console.log(`to go on: ${continuation(tally)}`);
  return 0;
}

function optionsOf(seed: number): Options {
  const steps = Number(values.steps);
  const runs = Number(values.runs ?? Math.max(DEFAULTS.runs, Math.round(steps / STEPS_OF_A_RUN)));
  const withinMs = values.within === undefined ? undefined : Number(values.within) * 1_000;
  return { ...DEFAULTS, seed, steps, runs, withinMs, looksAtAll: values["audit-all"] };
}

function taleOf({ seed, steps, runs, withinMs, looksAtAll = false }: Options) {
  return { seed, steps, runs, withinMs, looksAtAll };
}

async function tellOne(options: Options): Promise<number> {
  const result = await simulate(options);
  if (result.violation !== undefined) return explain(options);
  console.log(tellStory(result));
  return 0;
}

/** The options with which what was interrupted goes on. */
function continuation({ next, steps }: Tally): string {
  const rest = Number.isFinite(stepsTotal) ? ` --steps-total ${Math.max(0, stepsTotal - steps)}` : "";
  const end = values.to === undefined ? "" : ` --to ${values.to}`;
  const runs = values.runs === undefined ? "" : ` --runs ${values.runs}`;
  const within = values.within === undefined ? "" : ` --within ${values.within}`;
  return `npm run sim -- --from ${next}${end} --steps ${values.steps}${runs}${within}${rest}`;
}

/** Tells stories of chaos until one goes wrong. What it prints of idleness is the most that there was. */
async function exploreChaos(): Promise<number> {
  const shares = new Map<string, number>();
  let seed = from;
  for (; seed <= to && Date.now() < until; seed += 1) {
    const result = await simulate(chaos(seed));
    if (values.story) console.log(tellStory(result));
    const wrong = wrongWith(result);
    if (wrong !== undefined) {
      console.error(`seed ${seed} (--story tells it): ${wrong}`);
      return 1;
    }
    for (const { kind, idleMs, boundMs } of idleness(result.bill))
      shares.set(kind, Math.max(shares.get(kind) ?? 0, idleMs / boundMs));
  }
  const told = [...shares].map(([kind, share]) => `${kind} ${Math.round(100 * share)} %`);
  console.log(`${seed - from} seeds of ${CHAOS_RUNS} runs held; idle, of its bound: ${told.join(", ")}`);
  return 0;
}

async function explain(failing: Options): Promise<number> {
  console.error(`seed ${failing.seed} fails; looking for the shortest story of it …`);
  const { options, result } = await shortest(failing);
  console.error(
    `${options.runs} runs, seed ${options.seed}, faults: ${options.faults.join(", ") || "none"}\n`,
  );
  console.error(tellStory(result));
  return 1;
}
