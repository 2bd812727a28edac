import { parseArgs } from "node:util";
import { CHAOS_RUNS, chaos, idleness, wrongWith } from "./chaos.ts";
import { shortest, tellStory } from "./shrink.ts";
import { DEFAULTS, simulate } from "./simulation.ts";

const HELP = `Runs the simulator: the real machines and shell over a fake clock, network, cloud and disk.

  npm run sim                              seeds 1, 2, 3 … for a minute
  npm run sim -- --seed 7 --steps 100000   one story
  npm run sim -- --from 1 --to 1000        a range of seeds

  --steps N   steps with faults before everything must come to its end (default 2000)
  --runs N    runs that are submitted (default ${DEFAULTS.runs}, or one for every 400 steps)
  --seconds N how long to go on without --seed and --to (default 60)
  --chaos     stories of ${CHAOS_RUNS} runs on a cloud and machines with every trouble (test/sim/chaos.ts)
  --story     tell the story of a seed that held, too`;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    from: { type: "string", default: "1" },
    to: { type: "string" },
    steps: { type: "string", default: "2000" },
    runs: { type: "string" },
    seconds: { type: "string", default: "60" },
    chaos: { type: "boolean", default: false },
    story: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) console.log(HELP);
else process.exitCode = await (values.chaos ? exploreChaos() : explore());

/** Tells stories until one fails, or the range or the time is over. The exit code. */
async function explore(): Promise<number> {
  const steps = Number(values.steps);
  const runs = Number(values.runs ?? Math.max(DEFAULTS.runs, Math.round(steps / 400)));
  const from = Number(values.seed ?? values.from);
  const to = Number(values.seed ?? values.to ?? Number.POSITIVE_INFINITY);
  const until = Date.now() + Number(values.seconds) * 1_000;
  const ends: Record<string, number> = {};
  let seed = from;
  for (; seed <= to && (Number.isFinite(to) || Date.now() < until); seed += 1) {
    const options = { ...DEFAULTS, seed, steps, runs };
    const result = await simulate(options);
    if (result.violation !== undefined) return explain(options);
    if (values.story) console.log(tellStory(result));
    for (const [end, count] of Object.entries(result.ends)) ends[end] = (ends[end] ?? 0) + count;
  }
  const told = Object.entries(ends).map(([end, count]) => `${count} ${end}`);
  console.log(`${seed - from} seeds of ${steps} steps held; their runs ended: ${told.join(", ")}`);
  return 0;
}

/** Tells stories of chaos until one goes wrong. What it prints of idleness is the most that there was. */
async function exploreChaos(): Promise<number> {
  const from = Number(values.seed ?? values.from);
  const to = Number(values.seed ?? values.to ?? Number.POSITIVE_INFINITY);
  const until = Date.now() + Number(values.seconds) * 1_000;
  const shares = new Map<string, number>();
  let seed = from;
  for (; seed <= to && (Number.isFinite(to) || Date.now() < until); seed += 1) {
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

async function explain(failing: Parameters<typeof shortest>[0]): Promise<number> {
  console.error(`seed ${failing.seed} fails; looking for the shortest story of it …`);
  const { options, result } = await shortest(failing);
  console.error(
    `${options.runs} runs, seed ${options.seed}, faults: ${options.faults.join(", ") || "none"}\n`,
  );
  console.error(tellStory(result));
  return 1;
}
