// What does a plug-in say of the devices of this machine (devices.md#plug-in)?
import { MAX_DEVICE_WORD_CHARS, MAX_DEVICES } from "../../../src/shared/limits.ts";
import { errorText } from "../../../src/shared/words.ts";
import { type Device, faultOf, MAX_PARTS, MAX_VALUE_CHARS, type Seen } from "./device.ts";

/** What an error quotes of an output that is no JSON, in characters. */
const QUOTED_CHARS = 80;
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Ids are joined by commas in variables of a task, so they have neither commas nor blanks. */
const ID = /^[!-+\--~]+$/;
/** Prefix of Drover's own variables, which a plug-in must not set. */
const OWN_PREFIX = "DROVER_";

type Fields = Record<string, unknown>;

/** Reads the output of a plug-in. An output that breaks a rule counts as none at all. */
export function readListing(text: string): Seen {
  try {
    return { kind: "devices", devices: devicesIn(parsed(text)) };
  } catch (error) {
    return faultOf(errorText(error));
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const start = text.trim().slice(0, QUOTED_CHARS);
    throw new Error(
      start === "" ? "it has printed nothing" : `it has printed no JSON: ${JSON.stringify(start)}`,
    );
  }
}

function devicesIn(listing: unknown): Device[] {
  const { devices } = fieldsOf(listing, "the output");
  if (!Array.isArray(devices)) throw new Error('the output must be an object with a list "devices"');
  if (devices.length > MAX_DEVICES) {
    throw new Error(`it has listed ${devices.length} devices; at most ${MAX_DEVICES} are possible`);
  }
  const read = devices.map((one, index) => deviceIn(fieldsOf(one, `devices[${index}]`), `devices[${index}]`));
  const seen = new Set<string>();
  for (const { id } of read) {
    if (seen.has(id)) throw new Error(`two devices have the id "${id}"`);
    seen.add(id);
  }
  return read;
}

function deviceIn(fields: Fields, at: string): Device {
  const { memoryBytes = 0, healthy = true, env, cdi, paths } = fields;
  const id = wordIn(fields, "id", at);
  if (!ID.test(id)) throw new Error(`${at}.id must have neither blanks nor commas`);
  if (typeof memoryBytes !== "number" || !Number.isSafeInteger(memoryBytes) || memoryBytes < 0) {
    throw new Error(`${at}.memoryBytes must be a whole number of bytes`);
  }
  if (typeof healthy !== "boolean") throw new Error(`${at}.healthy must be true or false`);
  return {
    id,
    vendor: wordIn(fields, "vendor", at),
    model: wordIn(fields, "model", at),
    memoryBytes,
    driver: fields.driver === undefined ? "" : wordIn(fields, "driver", at),
    healthy,
    ...(env === undefined ? {} : { env: environmentIn(fieldsOf(env, `${at}.env`), `${at}.env`) }),
    ...(cdi === undefined ? {} : { cdi: shortText(cdi, `${at}.cdi`) }),
    ...(paths === undefined ? {} : { paths: pathsIn(paths, `${at}.paths`) }),
  };
}

function fieldsOf(value: unknown, at: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error(`${at} must be an object`);
}

function wordIn(fields: Fields, name: string, at: string): string {
  const { [name]: word } = fields;
  if (
    typeof word === "string" &&
    word.trim() !== "" &&
    word.length <= MAX_DEVICE_WORD_CHARS &&
    isPrintable(word)
  ) {
    return word;
  }
  throw new Error(`${at}.${name} must be a text of 1 to ${MAX_DEVICE_WORD_CHARS} characters`);
}

function shortText(value: unknown, at: string): string {
  if (typeof value === "string" && value.length <= MAX_VALUE_CHARS && isPrintable(value)) return value;
  throw new Error(`${at} must be a text of at most ${MAX_VALUE_CHARS} characters`);
}

function environmentIn(fields: Fields, at: string): Record<string, string> {
  const entries = Object.entries(fields);
  if (entries.length > MAX_PARTS) throw new Error(`${at} has more than ${MAX_PARTS} variables`);
  for (const [name] of entries) {
    if (!ENV_NAME.test(name)) throw new Error(`${at}: "${name}" cannot be the name of a variable`);
    if (name.startsWith(OWN_PREFIX)) throw new Error(`${at}: ${name} is Drover's own variable`);
  }
  return Object.fromEntries(entries.map(([name, value]) => [name, shortText(value, `${at}.${name}`)]));
}

function pathsIn(value: unknown, at: string): string[] {
  if (!Array.isArray(value) || value.length > MAX_PARTS) {
    throw new Error(`${at} must be a list of at most ${MAX_PARTS} paths`);
  }
  return value.map((one, index) => {
    const path = shortText(one, `${at}[${index}]`);
    if (!path.startsWith("/dev/") || path.includes(".."))
      throw new Error(`${at}[${index}] must be a path below /dev`);
    return path;
  });
}

/** Whether a text has no control character: it is shown to people, and put into an environment. */
function isPrintable(text: string): boolean {
  return !/\p{Cc}/u.test(text);
}
