// Can this pool make servers of Hetzner Cloud, by what Hetzner says?
import { apiOf } from "../../../src/providers/hetzner/api.ts";
import { veilOf } from "../../../src/providers/veil.ts";
import type { HetznerConfig } from "../../../src/schema/pool/providers/clouds.ts";
import { type Reader, readerOf, refused } from "../facts.ts";
import { CREDENTIALS, type Finding, missing, ok, unknown } from "../finding.ts";
import { GIB, listed, type Real, type Subject, type Wanted } from "../subject.ts";
import { type HetznerFacts, readHetzner, readLocations, type ServerType } from "./hetzner-facts.ts";
import { askedPlaces, type Offered, placeFinding, typeFinding } from "./places.ts";

const PAGE = "docs/clouds/hetzner.md";
const WRONG_TOKEN = "Make an API token that may read and write (Hetzner console, Security, API tokens)";
const NO_LIMIT = "Hetzner tells no limit: the console shows it (Limits), and asks for more";

/** A reader of the project of this token. */
export function hetznerReader(config: HetznerConfig, credentials: string, now: () => number): Reader {
  const token = credentials.trim();
  return readerOf(apiOf(config, token, now), veilOf([token]));
}

/** Reads what Hetzner says, and judges it. Nothing is created or changed (clouds/hetzner.md#checks). */
export async function checkHetzner(
  subject: Subject<HetznerConfig>,
  credentials: string,
  now: () => number,
): Promise<Finding[]> {
  if (!/^[!-~]{1,1024}$/.test(credentials.trim())) {
    return [missing(CREDENTIALS, "the text is no token", WRONG_TOKEN)];
  }
  const read = hetznerReader(subject.provider, credentials, now);
  const locations = await readLocations(read);
  if ("refusal" in locations) return [refused(CREDENTIALS, locations.refusal, WRONG_TOKEN)];
  return judgeHetzner(subject, await readHetzner(read, subject.provider, subject.config.image, locations));
}

/** What these facts say about the pool. */
export function judgeHetzner(subject: Subject<HetznerConfig>, facts: HetznerFacts): Finding[] {
  const { provider, wanted } = subject;
  const places = provider.locations ?? [];
  const known = "data" in facts.locations ? facts.locations.data : [];
  return [
    ok(CREDENTIALS, "Hetzner takes the token"),
    writeFinding(facts.writes),
    placeFinding("locations", askedPlaces(places, wanted), known, "`locations`"),
    ...typeFindings(wanted, places, facts.types),
    ...imageFindings(subject, facts.images),
    keyFinding(provider.sshKeys, facts.sshKeys),
    ...facts.attached.map(([what, fact]) =>
      "data" in fact ? ok(what, "it exists") : refused(what, fact.refusal, `Take its id out: ${PAGE}`),
    ),
    quotaFinding(subject, facts.servers),
  ];
}

/** A token that may only read is refused before Hetzner looks for the server, which does not exist. */
function writeFinding(writes: HetznerFacts["writes"]): Finding {
  const check = "permission to write";
  if ("data" in writes) return unknown(check, "Hetzner has answered a call for a server that cannot exist");
  const { refusal } = writes;
  if (refusal.code === "not_found") return ok(check, "the token may write");
  if (refusal.class === "auth") return missing(check, refusal.text, WRONG_TOKEN);
  return unknown(check, refusal.text);
}

function typeFindings(
  wanted: readonly Wanted[],
  places: readonly string[],
  types: HetznerFacts["types"],
): Finding[] {
  if ("refusal" in types) return [refused("types", types.refusal)];
  const known = types.data.map(({ name }) => name);
  return wanted.map((one) => {
    const type = types.data.find(({ name }) => name === one.type);
    const at = one.zones ?? places;
    return typeFinding(one, type === undefined ? undefined : offeredOf(type, at), places, known);
  });
}

/** What Hetzner says of a type: its price, by which Drover counts, and whether it is on its way out. */
function offeredOf(type: ServerType, places: readonly string[]): Offered {
  const price = priceOf(type, places);
  const leaving = (places.length > 0 ? places : locationsOf(type)).filter((place) =>
    type.locations?.some(({ name, deprecation }) => name === place && deprecation != null),
  );
  const notes = [
    ...(price === undefined ? [] : [`${price} an hour without VAT`]),
    ...(leaving.length === 0 ? [] : [`it will go at ${listed(leaving)}`]),
  ];
  const more = notes.map((note) => `, ${note}`).join("");
  const todo = leaving.length === 0 ? "" : "Take a type that Hetzner keeps";
  return { real: realOf(type), places: locationsOf(type), more, todo };
}

/** What a type has. Hetzner counts memory and disks in GB and means GiB. */
export function realOf({ cores, memory, disk, architecture }: ServerType): Real {
  return {
    vcpus: cores,
    memoryBytes: memory * GIB,
    diskBytes: disk * GIB,
    arch: architecture === "arm" ? "arm64" : "x64",
  };
}

/** Where new servers of a type can be had. */
export function locationsOf({ locations, prices }: ServerType): string[] {
  if (locations == null) return prices.map(({ location }) => location);
  return locations.flatMap(({ name, available }) => (available === false ? [] : [name]));
}

/** The highest price per hour among these locations, or all, in the currency of the account. */
export function priceOf({ prices }: ServerType, places: readonly string[]): number | undefined {
  const there = prices.filter(({ location }) => places.length === 0 || places.includes(location));
  const known = there.map(({ price_hourly: { net } }) => Number(net)).filter((price) => price >= 0);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** An image has a processor: the pool's types need one for theirs. */
function imageFindings(
  { config: { image }, wanted }: Subject<HetznerConfig>,
  images: HetznerFacts["images"],
): Finding[] {
  const check = "image";
  if ("refusal" in images) return [refused(check, images.refusal)];
  const todo = "Set `image` to one of: hcloud image list -o columns=name,architecture";
  const there = images.data.filter(({ status }) => status === "available");
  if (there.length === 0) return [missing(check, `there is no image ${image}`, todo)];
  const has = new Set(there.map(({ architecture }) => (architecture === "arm" ? "arm64" : "x64")));
  const lacking = [...new Set(wanted.map(({ arch }) => arch))].filter((arch) => !has.has(arch));
  if (lacking.length === 0) return [ok(check, `${image}, ${[...has].join(" and ")}`)];
  return [missing(check, `${image} is not there for ${lacking.join(", ")}`, todo)];
}

function keyFinding(names: readonly string[], keys: HetznerFacts["sshKeys"]): Finding {
  const check = "SSH keys";
  if ("refusal" in keys) return refused(check, keys.refusal);
  if (names.length === 0) {
    const todo = "Name a key of the project in `sshKeys` (--ssh-key)";
    return ok(check, "none: Hetzner sends an e-mail with a password for each machine", todo);
  }
  const strange = names.filter((name) => !keys.data.includes(name));
  if (strange.length === 0) return ok(check, names.join(", "));
  const todo = `Run: hcloud ssh-key create --name ${strange[0]} --public-key-from-file FILE`;
  return missing(check, `the project has no key ${strange.join(", ")}`, todo);
}

function quotaFinding({ config }: Subject<HetznerConfig>, servers: HetznerFacts["servers"]): Finding {
  const check = "quota";
  if ("refusal" in servers) return refused(check, servers.refusal);
  return unknown(
    check,
    `servers in the project: ${servers.data}; the pool may add ${config.maxInstances}`,
    NO_LIMIT,
  );
}
