// `npm run stored -- Allocation build-17`: what an object of a local Drover has stored, by its class and its
// name (a run's id, a pool's name, a worker's id, `registry`); without a name, of all objects of the class.
// The state directory is `$DROVER_STATE`, or `.drover`. Only reads, so Drover may run meanwhile.
import { createHash, createHmac } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { inspect } from "node:util";
import { deserialize } from "node:v8";

const [className = "", name] = process.argv.slice(2);
const folder = join(process.env.DROVER_STATE ?? ".drover", "objects", "do", `drover-${className}`);
if (!existsSync(folder)) fail(`${folder} is not there: name Allocation, CloudWorker, Pool or Registry.`);

const ALARMS = "metadata.sqlite";
const files = readdirSync(folder).filter((file) => file.endsWith(".sqlite") && file !== ALARMS);
const wanted = name === undefined ? files : files.filter((file) => file === `${idOf(name)}.sqlite`);
if (wanted.length === 0) fail(`No ${className} ${name ?? ""} has anything stored in ${folder}.`);
for (const file of wanted)
  console.log(inspect(storedIn(file), { depth: null, colors: process.stdout.isTTY }));

/** The id of the object with this name, as Miniflare derives it from that and the name of the class. */
function idOf(objectName) {
  const key = createHash("sha256").update(`drover-${className}`).digest();
  const mac = (data) => createHmac("sha256", key).update(data).digest().subarray(0, 16);
  const first = mac(objectName);
  return Buffer.concat([first, mac(first)]).toString("hex");
}

/** The record (`ValueStore`), the tables of rows (`SqlRowDisk`), and when the alarm is set for. */
function storedIn(file) {
  const id = basename(file, ".sqlite");
  const [alarm] = rowsOf(
    ALARMS,
    "SELECT scheduled_time / 1000000 AS at FROM _cf_ALARM WHERE actor_id = ?",
    id,
  );
  const stored = { id, alarm: alarm && new Date(alarm.at).toISOString(), record: undefined };
  for (const { name: table } of rowsOf(file, "SELECT name FROM sqlite_master WHERE type = 'table'")) {
    const rows = () => rowsOf(file, `SELECT * FROM "${table}"`);
    if (table === "_cf_KV") [stored.record] = rows().map(({ value }) => deserialize(value).value);
    else if (!table.startsWith("_cf_")) stored[table] = rows().map(({ k, v }) => [k, JSON.parse(v)]);
  }
  return stored;
}

function rowsOf(file, sql, ...values) {
  const database = new DatabaseSync(join(folder, file), { readOnly: true });
  try {
    return database.prepare(sql).all(...values);
  } finally {
    database.close();
  }
}

function fail(text) {
  console.error(text);
  process.exit(1);
}
