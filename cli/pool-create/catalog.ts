// What does the cloud that was chosen offer: asked of it where it says so, or else from the price lists?

import { keysIn } from "../../src/providers/ec2/keys.ts";
import { spotPrices } from "../../src/providers/ec2/prices.ts";
import { guestOf } from "../../src/providers/fly/machines.ts";
import { keyIn } from "../../src/providers/gce/key.ts";
import { Ec2Config, GceConfig, HetznerConfig } from "../../src/schema/pool/providers/clouds.ts";
import { now } from "../clock.ts";
import { askingEc2, readImage, readTypes } from "../pool-check/clouds/ec2-facts.ts";
import { gceReaders, readMachineType } from "../pool-check/clouds/gce-facts.ts";
import { hetznerReader, locationsOf, priceOf, realOf } from "../pool-check/clouds/hetzner.ts";
import { readTypes as readServerTypes } from "../pool-check/clouds/hetzner-facts.ts";
import { GIB } from "../pool-check/subject.ts";
import type { Answers } from "./answers.ts";
import type { Offer } from "./offer.ts";
import { PRICE_LISTS } from "./price-lists.ts";

/** What a cloud offers, as far as it says so: the checks find what was refused. */
export interface Catalog {
  offers: Offer[];
  /** Whether the prices are the cloud's own. */
  isPriced: boolean;
}

const account = { credentials: { binding: "CLOUD_CHECKED" } };
/** The types to choose from, and those that were chosen. What a cloud does not say is left out. */
export async function catalogOf(answers: Answers, credentials: string): Promise<Catalog> {
  switch (answers.cloud) {
    case "hetzner":
      return { offers: await hetznerOffers(answers, credentials), isPriced: true };
    case "ec2":
      return { offers: await ec2Offers(answers, credentials), isPriced: false };
    case "gce":
      return { offers: await gceOffers(answers, credentials), isPriced: false };
    case "fly":
      return { offers: flyOffers(answers), isPriced: false };
    default:
      return { offers: [], isPriced: true };
  }
}

async function hetznerOffers({ endpoint, places }: Answers, credentials: string): Promise<Offer[]> {
  const { data: config } = HetznerConfig.safeParse({ kind: "hetzner", ...account, endpoint });
  if (config === undefined || !/^[!-~]+$/.test(credentials.trim())) return [];
  const types = await readServerTypes(hetznerReader(config, credentials, now));
  if ("refusal" in types) return [];
  const there = types.data.filter((type) => {
    const at = locationsOf(type);
    return places.length === 0 ? at.length > 0 : places.some((place) => at.includes(place));
  });
  return there.map((type) => {
    const { vcpus, memoryBytes, arch = "x64" } = realOf(type);
    const size = { vcpus, memoryGib: memoryBytes / GIB, diskGib: type.disk };
    return { type: type.name, ...size, arch, gpus: 0, price: priceOf(type, places) };
  });
}

/** The types of the list and those that were chosen, with spot prices if the keys may read them. */
async function ec2Offers(answers: Answers, credentials: string): Promise<Offer[]> {
  const { offers: list } = PRICE_LISTS.ec2;
  const asking = ec2Asking(answers, credentials);
  if (asking === undefined) return [...list];
  const strange = strangersIn(answers, list);
  const types = strange.length === 0 ? undefined : await readTypes(asking, strange);
  const more = types !== undefined && "data" in types ? [...types.data] : [];
  const offers: Offer[] = [
    ...list,
    ...more.map(([type, { vcpus, memoryBytes, arch = "x64" }]) => {
      return { type, vcpus, memoryGib: memoryBytes / GIB, arch, gpus: 0 };
    }),
  ];
  if (!answers.spot) return offers;
  const prices = await spotPrices(
    asking,
    offers.map(({ type }) => type),
    now(),
    answers.subnets,
  );
  if (prices.kind === "failed") return offers;
  return offers.map((offer) => {
    const own = prices.prices.filter(({ type }) => type === offer.type).map(({ price }) => price);
    return own.length === 0 ? offer : { ...offer, spotPrice: Math.max(...own) };
  });
}

/** The root device of an image of EC2. Undefined: EC2 does not say. */
export async function rootDeviceOf(answers: Answers, credentials: string): Promise<string | undefined> {
  const asking = answers.cloud === "ec2" ? ec2Asking(answers, credentials) : undefined;
  const image = asking === undefined ? undefined : await readImage(asking, answers.image ?? "");
  if (image === undefined || "refusal" in image) return undefined;
  return image.data?.rootDevice || undefined;
}

function ec2Asking({ endpoint, places: [region] }: Answers, credentials: string) {
  const { data: config } = Ec2Config.safeParse({ kind: "ec2", ...account, endpoint, region });
  const read = keysIn(credentials);
  return config === undefined || "failure" in read ? undefined : askingEc2(config, read.keys, now);
}

async function gceOffers(answers: Answers, credentials: string): Promise<Offer[]> {
  const { offers: list } = PRICE_LISTS.gce;
  const { endpoint, projectId: project, places: zones } = answers;
  const strange = strangersIn(answers, list);
  const { data: config } = GceConfig.safeParse({ kind: "gce", ...account, endpoint, project, zones });
  const read = keyIn(credentials);
  if (strange.length === 0 || config === undefined || "failure" in read) return [...list];
  const readers = await gceReaders(config, read.key, now);
  if (readers === undefined) return [...list];
  const more: Offer[] = [];
  for (const type of strange) {
    const fact = await readMachineType(readers.project, type, zones[0] ?? "");
    if ("refusal" in fact) continue;
    const { vcpus, memoryBytes, arch = "x64" } = fact.data;
    more.push({ type, vcpus, memoryGib: memoryBytes / GIB, arch, gpus: 0 });
  }
  return [...list, ...more];
}

/** Every size of Fly says by its name what it has. */
function flyOffers(answers: Answers): Offer[] {
  const { offers: list } = PRICE_LISTS.fly;
  const more = strangersIn(answers, list).flatMap((type): Offer[] => {
    const guest = guestOf(type);
    if (guest === undefined) return [];
    const memoryGib = guest.cpu_kind === "shared" ? Math.max(1, guest.cpus / 2) : guest.cpus * 2;
    return [{ type, vcpus: guest.cpus, memoryGib, arch: "x64", gpus: 0 }];
  });
  return [...list, ...more];
}

/** The chosen types that a list does not have. */
function strangersIn({ types }: Answers, list: readonly Offer[]): string[] {
  return types.map(({ type }) => type).filter((type) => !list.some((offer) => offer.type === type));
}
