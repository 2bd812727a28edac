// A fake of each cloud as the commands of pools need it, with a pool that is right on it.
import { type Ec2Cloud, KEYS, REGION, startEc2 } from "../ec2-fake.ts";
import { APP, TOKEN as FLY_TOKEN, type FlyCloud, startFly } from "../fly-fake.ts";
import { type GceCloud, KEY as KEY_OF_GOOGLE, PROJECT, startGce, ZONES } from "../gce-fake.ts";
import { TOKEN as HETZNER_TOKEN, type HetznerCloud, startHetzner } from "../hetzner-fake.ts";

type Json = Record<string, unknown>;

/** A pool on a fake. */
export interface PoolOnFake<Cloud> {
  cloud: Cloud;
  url: string;
  /** A file for `-f`. */
  pool: Json & { provider: Json; instanceTypes: Record<string, Json> };
  credentials: string;
  /** Credentials of the same form that nobody has. */
  wrong: string;
  /** Methods and paths, or actions, of all calls so far that could have changed something. */
  changes(): string[];
}

const name = "ci";
const credentials = { secret: "cloud" };
const changesOf = (calls: { method: string; path: string }[]) =>
  calls.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);

export async function poolOnHetzner(): Promise<PoolOnFake<HetznerCloud>> {
  const { cloud, url } = await startHetzner();
  return {
    cloud,
    url,
    pool: {
      name,
      provider: {
        kind: "hetzner",
        endpoint: url,
        credentials,
        locations: ["fsn1", "nbg1"],
        sshKeys: ["ops"],
      },
      image: "ubuntu-24.04",
      instanceTypes: { cx22: { vcpus: 2, memory: "4GiB", disk: "40GiB", price: 0.006 } },
      maxInstances: 2,
    },
    credentials: HETZNER_TOKEN,
    wrong: "hcloudTokenThatNobodyHas",
    changes: () => changesOf(cloud.calls),
  };
}

export async function poolOnEc2(): Promise<PoolOnFake<Ec2Cloud>> {
  const { cloud, url } = await startEc2();
  const type = { providerType: "m7i.large", vcpus: 2, memory: "8GiB", disk: "20GiB", price: 0.1 };
  return {
    cloud,
    url,
    pool: {
      name,
      provider: { kind: "ec2", endpoint: url, credentials, region: REGION },
      image: "ami-0a1b2c3d4e5f60718",
      instanceTypes: { "m7i-large": { ...type, preemptible: true, fallback: { price: 0.11 } } },
      maxInstances: 2,
    },
    credentials: JSON.stringify(KEYS),
    wrong: JSON.stringify({ ...KEYS, secretAccessKey: "thatNobodyHas" }),
    changes: () =>
      cloud.calls
        .filter(({ action, body }) => !/^(?:Describe|Get)/.test(action) && !/\bDryRun=true\b/.test(body))
        .map(({ action }) => action),
  };
}

export async function poolOnFly(): Promise<PoolOnFake<FlyCloud>> {
  const { cloud, url } = await startFly();
  return {
    cloud,
    url,
    pool: {
      name,
      provider: { kind: "fly", endpoint: url, credentials, app: APP, regions: ["fra", "ams"] },
      image: "docker.io/library/node:24-bookworm-slim",
      instanceTypes: { small: { providerType: "shared-cpu-2x", vcpus: 2, memory: "1GiB", price: 0.008 } },
      maxInstances: 2,
    },
    credentials: FLY_TOKEN,
    wrong: "FlyV1 fm2_nobody",
    changes: () => changesOf(cloud.calls),
  };
}

export async function poolOnGce(): Promise<PoolOnFake<GceCloud>> {
  const { cloud, url } = await startGce();
  return {
    cloud,
    url,
    pool: {
      name,
      provider: { kind: "gce", endpoint: url, credentials, project: PROJECT, zones: ZONES.slice(0, 2) },
      image: "projects/debian-cloud/global/images/family/debian-12",
      instanceTypes: { "e2-standard-2": { vcpus: 2, memory: "8GiB", disk: "20GiB", price: 0.074 } },
      maxInstances: 2,
    },
    credentials: JSON.stringify(KEY_OF_GOOGLE),
    wrong: JSON.stringify({ ...KEY_OF_GOOGLE, client_email: "nobody@drover-ci.iam.gserviceaccount.com" }),
    changes: () => changesOf(cloud.calls),
  };
}

/** Each cloud with a pool that is right on it. */
export const ON_FAKES: { kind: string; start: () => Promise<PoolOnFake<unknown>> }[] = [
  { kind: "hetzner", start: poolOnHetzner },
  { kind: "ec2", start: poolOnEc2 },
  { kind: "fly", start: poolOnFly },
  { kind: "gce", start: poolOnGce },
];
