// `npm run bench:snapshots`: how long do packing and unpacking take, beside tar (budgets.md#archives)?
// Asserts nothing. Defaults: -- --rounds 5 --files 10000 --mb 200 --disk (a folder in memory).
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { IN_MEMORY } from "./drover.ts";
import { measureSnapshots, missingForSnapshots } from "./figures/snapshots.ts";
import { tableOf } from "./table.ts";

const text = (value: string) => ({ type: "string", default: value }) as const;
const { values } = parseArgs({
  options: { rounds: text("5"), files: text("10000"), mb: text("200"), disk: text(IN_MEMORY) },
});
const amount = { files: Number(values.files), megabytes: Number(values.mb) };
const load = loadavg().map((one) => one.toFixed(2));
console.log(tableOf(measureSnapshots(values.disk, Number(values.rounds), amount)));
console.log(`\nNode ${process.versions.node}; load before ${load.join(" ")}; files in ${values.disk}`);
const missing = missingForSnapshots();
if (missing !== undefined) console.log(missing);
