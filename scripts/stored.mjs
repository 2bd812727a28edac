// `npm run stored -- Allocation build-17`: what has an object of a local Drover stored? Its name is a run's
// id, a pool's name, a worker's id or `registry`; without a name, all objects of the class are shown. The
// state directory is `$DROVER_STATE` or `.drover`. Drover may be running meanwhile.
import { createHash, createHmac } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { inspect } from "node:util";
import { deserialize } from "node:v8";

const [className = "", name] = process.argv.slice(2);
const folder = join(process.env.DROVER_STATE ?? ".drover", "objects", "do", `drover-${className}`);
if (!existsSync(folder)) fail(`${folder} does not exist. Classes: Allocation, CloudWorker, Pool, Registry.`);

const ALARMS = "metadata.sqlite";
const files = readdirSync(folder).filter((file) => file.endsWith(".sqlite") && file !== ALARMS);
const wanted = name === undefined ? files : files.filter((file) => file === `${idOf(name)}.sqlite`);
if (wanted.length === 0) fail(`No ${className} ${name ?? ""} has stored anything in ${folder}.`);
for (const file of wanted)
  console.log(inspect(storedIn(file), { depth: null, colors: process.stdout.isTTY }));

/** The id of an object, as Miniflare derives it from the names of the class and the object. */
function idOf(objectName) {
  const key = createHash("sha256").update(`drover-${className}`).digest();
  const mac = (data) => createHmac("sha256", key).update(data).digest().subarray(0, 16);
  const first = mac(objectName);
  return Buffer.concat([first, mac(first)]).toString("hex");
}

/** The record (`ValueStore`), the tables of rows (`SqlRowDisk`), and the time of the alarm. */
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
