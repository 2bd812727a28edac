// What does `nvidia-smi` say of the GPUs of this machine (devices.md#nvidia)?
import { MAX_DEVICE_WORD_CHARS, MAX_DEVICES } from "../../../src/shared/limits.ts";
import { type Device, faultOf, type Seen } from "./device.ts";

/** The arguments with which it prints one line for each GPU. */
export const NVIDIA_ARGUMENTS = [
  "--query-gpu=index,uuid,name,memory.total,driver_version",
  "--format=csv,noheader,nounits",
];

const MEBIBYTE = 1024 * 1024;
/** What it prints of a board without GPUs, or without any that the driver takes. */
const NO_DEVICES = /^no devices were found/i;
/** `index, uuid, name, MiB, driver`: only the name may have commas. */
const LINE = /^(\d+), (GPU-[\w-]+), (.+), ([^,]+), ([^,]+)$/;
/** What it prints instead of a number that it does not have; other words in brackets are errors. */
const UNKNOWN = /^\[?(N\/A|Not Supported)\]?$/i;

/** Reads the output of `nvidia-smi`. A line that is not as expected makes all of it worth nothing. */
export function readNvidia(text: string): Seen {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (lines.some((line) => NO_DEVICES.test(line))) return { kind: "devices", devices: [] };
  if (lines.length > MAX_DEVICES) {
    return faultOf(`it has listed ${lines.length} GPUs; at most ${MAX_DEVICES} are possible`);
  }
  const devices: Device[] = [];
  for (const line of lines) {
    const device = deviceIn(line);
    if (device === undefined) return faultOf(`it has printed an unexpected line: ${JSON.stringify(line)}`);
    if (devices.some(({ id }) => id === device.id)) return faultOf(`two GPUs have the id ${device.id}`);
    devices.push(device);
  }
  return { kind: "devices", devices };
}

function deviceIn(line: string): Device | undefined {
  const [, index, id, name, memory = "", driver = ""] = LINE.exec(line) ?? [];
  if (index === undefined || id === undefined || name === undefined || name.length > MAX_DEVICE_WORD_CHARS) {
    return undefined;
  }
  const mebibytes = /^\d+$/.test(memory) ? Number(memory) : undefined;
  return {
    id,
    vendor: "nvidia",
    model: name,
    memoryBytes: (mebibytes ?? 0) * MEBIBYTE,
    driver: UNKNOWN.test(driver) ? "" : driver,
    // A GPU that has fallen off its bus keeps its line, with an error in place of its numbers.
    healthy: mebibytes !== undefined || UNKNOWN.test(memory),
    cdi: `nvidia.com/gpu=${index}`,
  };
}
