// `npm run fake-cloud -- hetzner`: a fake cloud to try a pool with, whose machines are processes here.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { startWay } from "./support/start-way.ts";
import { EC2_WAY, FLY_WAY, GCE_WAY, HETZNER_WAY } from "./support/ways.ts";

const WAYS = [HETZNER_WAY, EC2_WAY, FLY_WAY, GCE_WAY];
const kinds = WAYS.map(({ name }) => name).join(", ");

const HELP = `Starts the fake of a cloud, on this machine alone: ${kinds}.
Its machines are processes here, and run the data that Drover gives them. Start
\`drover up\` in another terminal, and make a pool as this command says. Ctrl-C ends
the fake and its machines.

  npm run fake-cloud -- hetzner`;

const way = WAYS.find(({ name }) => name === process.argv[2]);
if (way === undefined) {
  console.log(HELP);
  process.exit(process.argv.includes("--help") ? 0 : 2);
}

const dir = join(import.meta.dirname, "..", "..", ".cache", `fake-${way.name}`);
rmSync(dir, { recursive: true, force: true });
mkdirSync(dir, { recursive: true });
const { fake, machines } = await startWay(way, dir);
const provider = { ...way.provider(fake.url), credentials: { secret: way.name } };
const { image, instanceTypes } = way;
const pool = { name: "ci", provider, image, instanceTypes, maxInstances: 2, sync: { interval: "5s" } };
const [file, key] = [join(dir, "pool.json"), join(dir, "credentials")].map((path) =>
  relative(process.cwd(), path),
);
writeFileSync(join(dir, "pool.json"), `${JSON.stringify(pool, null, 2)}\n`);
writeFileSync(join(dir, "credentials"), way.credentials);
console.log(`The fake of ${way.name} is at ${fake.url}. With \`drover up\` in another terminal:

  drover secrets set ${way.name} - --use provider < ${key}
  drover apply -f ${file}
  drover run --pool ci -- uname -s
  drover provider destroy-all -f ${file} --credentials ${key}

Ctrl-C ends it.`);

async function stop(): Promise<void> {
  const left = fake.left();
  console.log(left.length === 0 ? "No machine was left." : `These machines were left: ${left.join(", ")}`);
  console.log(`They have cost ${fake.bill().toFixed(4)} in all.`);
  await machines.stop();
  fake.stop();
  rmSync(dir, { recursive: true, force: true });
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop());
