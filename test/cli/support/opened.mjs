// Writes the path of each file that a command opens to read it, for `node --import`: into the file that
// OPENED_LOG names. Directories do not count.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const log = process.env.OPENED_LOG;
const { openSync, readlinkSync, fstatSync, appendFileSync } = fs;
const { open } = fs.promises;

function note(fd) {
  if (fstatSync(fd).isFile()) appendFileSync(log, `${readlinkSync(`/proc/self/fd/${fd}`)}\n`);
}

fs.openSync = (...args) => {
  const fd = openSync(...args);
  note(fd);
  return fd;
};
fs.promises.open = async (...args) => {
  const handle = await open(...args);
  note(handle.fd);
  return handle;
};
syncBuiltinESMExports();
