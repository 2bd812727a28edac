// `npm run fake-cloud -- hetzner`: a fake cloud to try a pool with, whose machines are processes here.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { LoopbackCloud } from "../../local/loopback/cloud.ts";
import { startWay } from "./support/start-way.ts";
import { EC2_WAY, FLY_WAY, GCE_WAY, HETZNER_WAY } from "./support/ways.ts";

const WAYS = [HETZNER_WAY, EC2_WAY, FLY_WAY, GCE_WAY];
const kinds = WAYS.map(({ name }) => name).join(", ");

const HELP = `Starts the fake of a cloud, on this machine alone: ${kinds}.
Its machines are processes here, and run the data that Drover gives them. Start
\`drover up\` in another terminal, and make a pool as this command says. Ctrl-C ends
the fake and its machines. \`drover up --cloud hetzner-fake\` does all that at once.

  npm run fake-cloud -- hetzner

  --attached    print the pool and the credentials as one line of JSON, and end with stdin
  --dir <path>  where the machines and the port are kept; the next fake has the same port`;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    attached: { type: "boolean", default: false },
    dir: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
const way = WAYS.find(({ name }) => name === positionals[0]);
if (way === undefined) {
  console.log(HELP);
  process.exit(values.help ? 0 : 2);
}

const dir = values.dir ?? join(import.meta.dirname, "..", "..", ".cache", `fake-${way.name}`);
if (values.dir === undefined) rmSync(dir, { recursive: true, force: true });
await endFormer(join(dir, "machines"));
mkdirSync(dir, { recursive: true });
const portFile = join(dir, "port");
const port = existsSync(portFile) ? Number(readFileSync(portFile, "utf8")) : 0;
const { fake, machines } = await startWay(way, dir, port);
writeFileSync(portFile, new URL(fake.url).port);
const { image, instanceTypes, credentials } = way;
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop());
if (values.attached) announce(`${way.name}-fake`);
else explain(way.name);

/** What a fake that was killed has left. */
async function endFormer(path: string): Promise<void> {
  if (!existsSync(path)) return;
  const former = new LoopbackCloud({ dir: path, onProblem: (text) => console.error(text) });
  await former.adopt();
  await former.endAll();
  rmSync(path, { recursive: true, force: true });
}

function poolOf(secret: string) {
  const provider = { ...way?.provider(fake.url), credentials: { secret } };
  return { provider, image, instanceTypes, maxInstances: 2, sync: { interval: "5s" } };
}

/** For a program that has started this one, and that ends it by closing its stdin, or by dying. */
function announce(name: string): void {
  process.stdin.on("end", () => void stop()).resume();
  console.log(JSON.stringify({ name, pool: poolOf(name), credentials }));
}

function explain(name: string): void {
  const pool = join(dir, "pool.json");
  const key = join(dir, "credentials");
  writeFileSync(pool, `${JSON.stringify({ name: "ci", ...poolOf(name) }, null, 2)}\n`);
  writeFileSync(key, credentials);
  const [file, keyFile] = [pool, key].map((path) => relative(process.cwd(), path));
  console.log(`The fake of ${name} is at ${fake.url}. With \`drover up\` in another terminal:

  drover secrets set ${name} - --use provider < ${keyFile}
  drover apply -f ${file}
  drover run --pool ci -- uname -s
  drover provider destroy-all -f ${file} --credentials ${keyFile}

Ctrl-C ends it.`);
}

async function stop(): Promise<void> {
  const left = fake.left();
  console.log(left.length === 0 ? "No machine was left." : `These machines were left: ${left.join(", ")}`);
  console.log(`They have cost ${fake.bill().toFixed(4)} in all.`);
  await machines.stop();
  fake.stop();
  rmSync(values.dir === undefined ? dir : join(dir, "machines"), { recursive: true, force: true });
}
