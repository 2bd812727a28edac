// Counts what a process asks of the system, as far as it asks by Node's own functions. Loaded by `--import`.
// On SIGUSR2 it writes the counts to the file that COUNTS_FILE names.
import childProcess from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const counts = { forks: 0, opened: 0, changed: 0, flushed: 0 };
/** What depends on the machine and on what else it runs: its cgroups, and the processes that it has. */
const OF_MACHINE = /^\/(sys\/fs\/cgroup|proc\/(\d|loadavg|stat))/;

const { writeFileSync, renameSync } = fs;
let isWithin = false;

/** Counts the calls of these functions, but not what they themselves call. */
function count(module, names, counted) {
  for (const name of names) {
    const original = module[name];
    module[name] = (...args) => {
      if (isWithin) return original(...args);
      if (!OF_MACHINE.test(String(args[0]))) for (const one of counted(args)) counts[one] += 1;
      isWithin = true;
      try {
        return original(...args);
      } finally {
        isWithin = false;
      }
    };
  }
}

const flushed = (options) => (options?.flush === true ? ["flushed"] : []);
count(childProcess, ["spawn", "spawnSync", "execFile", "execFileSync", "exec", "fork"], () => ["forks"]);
count(fs, ["openSync", "readFileSync", "readdirSync", "opendirSync"], () => ["opened"]);
count(fs, ["writeFileSync", "appendFileSync"], ([, , options]) => ["opened", ...flushed(options)]);
count(fs, ["mkdirSync", "rmdirSync", "unlinkSync", "rmSync", "renameSync"], () => ["changed"]);
count(fs, ["fsyncSync", "fdatasyncSync"], () => ["flushed"]);
count(fs.promises, ["open", "readFile", "writeFile", "rm", "mkdir", "readdir"], () => ["opened"]);
syncBuiltinESMExports();

process.on("SIGUSR2", () => {
  const file = process.env.COUNTS_FILE;
  writeFileSync(`${file}.new`, JSON.stringify(counts));
  renameSync(`${file}.new`, file);
});
