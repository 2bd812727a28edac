// Adopts a machine, as a restarted `drover up` does, checks it while no file can be opened any more, and
// prints what came of that. The argument is the state directory.
import { openSync } from "node:fs";
import { creation } from "./cloud.ts";

const looks: (() => void)[] = [];
globalThis.setInterval = ((look: () => void) => {
  looks.push(look);
  return { unref: () => undefined };
}) as unknown as typeof setInterval; // all that the cloud uses of it
const { LoopbackCloud } = await import("../../../local/loopback/cloud.ts");

const deaths: string[] = [];
const onDeath = ({ how }: { how: string }) => void deaths.push(how);
const options = { dir: process.argv[2] ?? "", onProblem: () => {}, onDeath };
new LoopbackCloud(options).create(creation("w1", "sleep 1000\n"));
const cloud = new LoopbackCloud(options);
await cloud.adopt();

const opened: number[] = [];
let refused = "";
while (refused === "") {
  try {
    opened.push(openSync("/dev/null", "r"));
  } catch (error) {
    refused = String(error);
  }
}
for (const look of looks) look();
process.stdout.write(JSON.stringify({ refused, looks: looks.length, deaths, alive: cloud.living().length }));
process.exit();
