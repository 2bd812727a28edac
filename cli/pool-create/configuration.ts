// Which configuration of a pool do the answers mean?
import type { Answers, ChosenType } from "./answers.ts";
import type { Offer } from "./offer.ts";

/** What a spot machine of EC2 counts as, if Amazon names no price: it never costs more than on demand. */
const SPOT_CEILING = 0.9;

/** The configuration as JSON, which the server checks like any other. `rootDevice`: that of the image. */
export function configurationOf(
  answers: Answers,
  offers: readonly Offer[],
  secret: string,
  rootDevice: string | undefined,
): object {
  if (answers.cloud === "none") return { provider: { kind: "none" } };
  return {
    provider: providerOf(answers, secret, rootDevice),
    image: answers.image,
    instanceTypes: Object.fromEntries(answers.types.map((chosen) => typeOf(answers, chosen, offers))),
    maxInstances: answers.max,
  };
}

function providerOf(answers: Answers, secret: string, rootDevice: string | undefined): object {
  const { cloud, places, endpoint, app, projectId, sshKeys, subnets } = answers;
  const common = {
    kind: cloud,
    credentials: { secret },
    ...(endpoint === undefined ? {} : { endpoint }),
  };
  switch (cloud) {
    case "hetzner":
      return {
        ...common,
        ...(places.length === 0 ? {} : { locations: places }),
        ...(sshKeys.length === 0 ? {} : { sshKeys }),
      };
    case "fly":
      return { ...common, app, ...(places.length === 0 ? {} : { regions: places }) };
    case "gce":
      return { ...common, project: projectId, zones: places };
    default:
      return {
        ...common,
        region: places[0],
        ...(subnets === undefined ? {} : { subnets }),
        ...(rootDevice === undefined ? {} : { rootDevice }),
      };
  }
}

function typeOf(
  answers: Answers,
  { type, price: named }: ChosenType,
  offers: readonly Offer[],
): [string, object] {
  const name = type.toLowerCase().replace(/[^a-z0-9-]/g, "-");
  const offer = offers.find((one) => one.type === type);
  const price = named ?? offer?.price;
  const { vcpus = 1, memoryGib = 1, diskGib, gpus = 0, arch = "x64" } = offer ?? {};
  return [
    name,
    {
      ...(name === type ? {} : { providerType: type }),
      vcpus,
      memory: `${memoryGib}GiB`,
      ...diskOf(answers, diskGib),
      ...(gpus === 0 ? {} : { gpus }),
      ...(arch === "x64" ? {} : { arch }),
      ...(answers.spot ? spotOf(offer, price) : priced(price)),
    },
  ];
}

function diskOf({ cloud, disk }: Answers, diskGib: number | undefined): object {
  if (diskGib !== undefined) return { disk: `${diskGib}GiB` };
  return cloud === "ec2" || cloud === "gce" ? { disk } : {};
}

/** A spot type has a fallback on demand, which must cost more: a twin that does not would be taken first. */
function spotOf(offer: Offer | undefined, price: number | undefined): object {
  const ceiling = price === undefined ? undefined : price * SPOT_CEILING;
  const spot = offer?.spotPrice ?? ceiling;
  const least = spot === undefined || ceiling === undefined ? spot : Math.min(spot, ceiling);
  return { preemptible: true, ...priced(least), fallback: priced(price) };
}

function priced(price: number | undefined): object {
  return price === undefined ? {} : { price: Math.round(price * 1e6) / 1e6 };
}
