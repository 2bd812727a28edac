// Can this pool make machines of Fly, by what Fly says?
import { z } from "zod";
import { apiOf } from "../../../src/providers/fly/api.ts";
import { guestOf } from "../../../src/providers/fly/machines.ts";
import { veilOf } from "../../../src/providers/veil.ts";
import type { FlyConfig } from "../../../src/schema/pool/providers/clouds.ts";
import { type Fact, readerOf, refused } from "../facts.ts";
import { CREDENTIALS, type Finding, missing, ok, unknown } from "../finding.ts";
import { GIB, gib, type Subject, type Wanted } from "../subject.ts";
import { askedPlaces, placeFinding } from "./places.ts";

const NO_TOKEN = "Make a token: fly tokens create deploy -a APP -x 8760h";
const BY_TEST = "To know it, make a machine: drover provider test -f pool.json --create TYPE --credentials …";

/** How many processors a size may have, and how much memory for each, in GiB. */
const SIZES = {
  shared: { cpus: [1, 2, 4, 8], leastGib: 0.25, mostGib: 2 },
  performance: { cpus: [1, 2, 4, 8, 16], leastGib: 2, mostGib: 8 },
} as const;

const Region = z.object({ code: z.string() });
const Regions = z.object({ Regions: z.array(Region) });

/** All that a check reads. */
export interface FlyFacts {
  /** How many machines the app has. */
  machines: Fact<unknown[]>;
  regions: Fact<string[]>;
}

/** Reads what Fly says, and judges it. Nothing is created or changed (clouds/fly.md#checks). */
export async function checkFly(
  subject: Subject<FlyConfig>,
  credentials: string,
  now: () => number,
): Promise<Finding[]> {
  const token = credentials.trim();
  if (!/^[ -~]{1,8192}$/.test(token)) return [missing(CREDENTIALS, "the text is no token", NO_TOKEN)];
  const api = apiOf(subject.provider, token, now);
  const veil = veilOf(token.split(/[ ,]/));
  const machines = await readerOf(api, veil)(z.array(z.unknown()), { method: "GET", path: "" });
  if ("refusal" in machines) return judgeFly(subject, { machines, regions: machines });
  const platform = { ...api, base: api.base.replace(/\/apps\/[^/]+\/machines$/, "/platform") };
  const regions = await readerOf(platform, veil)(Regions, { method: "GET", path: "/regions" });
  const codes = "data" in regions ? { data: regions.data.Regions.map(({ code }) => code) } : regions;
  return judgeFly(subject, { machines, regions: codes });
}

/** What these facts say about the pool. */
export function judgeFly(subject: Subject<FlyConfig>, { machines, regions }: FlyFacts): Finding[] {
  const { provider, config, wanted } = subject;
  if ("refusal" in machines) {
    const { refusal } = machines;
    if (refusal.status !== 404) return [refused(CREDENTIALS, refusal, NO_TOKEN)];
    const { app } = provider;
    const todo = `Run: fly apps create ${app}. Then: fly tokens create deploy -a ${app} -x 8760h`;
    return [
      unknown(CREDENTIALS, "Fly shows no app to this token"),
      missing("app", `there is no app ${app}, or the token is of another app`, todo),
    ];
  }
  return [
    ok(CREDENTIALS, "Fly takes the token"),
    ok("app", `${provider.app} exists, with ${machines.data.length} machines`),
    regionFinding(askedPlaces(provider.regions ?? [], wanted), regions),
    ...wanted.map(sizeFinding),
    unknown("permission to write", "Fly tells of no token whether it may make machines", BY_TEST),
    unknown("image", `Fly looks for ${config.image} when it makes a machine`, BY_TEST),
    unknown(
      "quota",
      "Fly tells no limit of an organization",
      "Its dashboard shows it, and its support raises it",
    ),
  ];
}

function regionFinding(asked: readonly string[], regions: FlyFacts["regions"]): Finding {
  if ("data" in regions) return placeFinding("regions", asked, regions.data, "`regions`");
  return unknown("regions", regions.refusal.text, "Compare with: fly platform regions");
}

function sizeFinding(wanted: Wanted): Finding {
  const check = `type ${wanted.name}`;
  const guest = guestOf(wanted.type);
  const sizes = guest === undefined ? undefined : SIZES[guest.cpu_kind];
  if (guest === undefined || sizes === undefined || !sizes.cpus.some((cpus) => cpus === guest.cpus)) {
    const todo = "Set `providerType` to a size of: fly platform vm-sizes";
    return missing(check, `Fly has no size ${wanted.type}`, todo);
  }
  if (wanted.arch !== "x64") return missing(check, "Fly has no arm64", "Leave `arch` out");
  if (wanted.vcpus > guest.cpus) {
    return missing(check, `vcpus is ${wanted.vcpus}, and it has ${guest.cpus}`, "Take a larger size");
  }
  const [least, most] = [sizes.leastGib * guest.cpus * GIB, sizes.mostGib * guest.cpus * GIB];
  if (wanted.memoryBytes >= least && wanted.memoryBytes <= most) {
    return ok(check, `${guest.cpus} vCPUs, ${gib(wanted.memoryBytes)}`);
  }
  const range = `${gib(least)} to ${gib(most)}`;
  return missing(
    check,
    `memory is ${gib(wanted.memoryBytes)}, and ${wanted.type} may have ${range}`,
    "Change `memory`",
  );
}
