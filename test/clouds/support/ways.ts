// The kinds of clouds for which the whole way is gone, each with its fake.
import { Ec2Cloud, KEYS, REGION, serveEc2 } from "../ec2-fake.ts";
import {
  APP,
  IMAGE as FLY_IMAGE,
  TOKEN as FLY_TOKEN,
  FlyCloud,
  fault as flyFault,
  serveFly,
} from "../fly-fake.ts";
import {
  IMAGE as GCE_IMAGE,
  GceCloud,
  fault as gceFault,
  KEY as KEY_OF_GOOGLE,
  PROJECT,
  serveGce,
  ZONES,
} from "../gce-fake.ts";
import {
  IMAGE as HETZNER_IMAGE,
  TOKEN as HETZNER_TOKEN,
  HetznerCloud,
  fault as hetznerFault,
  serveHetzner,
  TYPES,
} from "../hetzner-fake.ts";
import type { FakeCloud } from "./fake-cloud.ts";
import type { Trouble, WholeWay } from "./whole.ts";

/** A zone has no room for anything, or does not answer at all. */
function outage({ faults }: FakeCloud, zone: string, isOut: boolean, how: Trouble): void {
  const set = how === "clear" ? faults.fullZones : faults.zoneOutage;
  if (isOut) set.add(zone);
  else set.delete(zone);
}

const ZONE_OUT = "eu-west-1a";

export const EC2_WAY: WholeWay = {
  name: "ec2",
  credentials: `${JSON.stringify(KEYS, null, 2)}\n`,
  async start({ onBoot, onEnd, port }) {
    const cloud = new Ec2Cloud({
      bootMs: 500,
      endMs: 500,
      onBoot: ({ id, token = "", userData }) => onBoot({ id, name: token, userData }),
      onEnd: ({ id }) => onEnd(id),
    });
    const { server, url } = await serveEc2(cloud, port);
    return {
      url,
      stop() {
        server.close();
        server.closeAllConnections();
      },
      settle: () => cloud.settle(),
      ended: (id) => cloud.powerOff(id),
      trouble: () =>
        Object.assign(cloud.faults, {
          errorRate: { code: "RequestThrottled", part: 0.1 },
          listDelayMs: 2_000,
          enforcesRates: true,
        }),
      outage(isOut, how) {
        const { noCapacity, zoneOutage } = cloud.faults;
        const [set, name] = how === "clear" ? [noCapacity, `m7i.large@${ZONE_OUT}`] : [zoneOutage, ZONE_OUT];
        if (isOut) set.add(name);
        else set.delete(name);
      },
      left: () => [...cloud.living, ...cloud.leftVolumes].map(({ id }) => id),
      overRate: () => cloud.calls.filter(({ code }) => code === "RequestLimitExceeded"),
      bill: () => [...cloud.instances.values()].reduce((sum, one) => sum + cloud.bill(one), 0),
    };
  },
  provider: (endpoint) => ({
    kind: "ec2",
    region: REGION,
    endpoint,
    subnets: { "eu-west-1a": "subnet-1111111a", "eu-west-1b": "subnet-1111111b" },
  }),
  image: "ami-0a1b2c3d4e5f60718",
  instanceTypes: { "m7i-large": { providerType: "m7i.large", vcpus: 2, memory: "1GiB", price: 0.1 } },
};

export const HETZNER_WAY: WholeWay = {
  name: "hetzner",
  credentials: `${HETZNER_TOKEN}\n`,
  async start({ onBoot, onEnd, port }) {
    const cloud = new HetznerCloud({ bootMs: 500, endMs: 500, onBoot, onEnd: ({ id }) => onEnd(id) });
    return {
      ...(await serveHetzner(cloud, port)),
      settle: () => cloud.settle(),
      ended(id) {
        throw new Error(`server ${id} was switched off from within, and would go on costing money`);
      },
      trouble: (how) =>
        Object.assign(cloud.faults, {
          errorRate: {
            error: how === "clear" ? hetznerFault(423, "locked") : hetznerFault(503, "unavailable"),
            part: 0.1,
          },
          listDelayMs: 2_000,
          enforcesRates: true,
        }),
      outage: (isOut, how) => outage(cloud, "fsn1", isOut, how),
      left: () => cloud.living.map(({ name }) => name),
      overRate: () => cloud.calls.filter(({ status }) => status === 429),
      bill: () => cloud.all.reduce((sum, one) => sum + cloud.bill(one), 0),
    };
  },
  provider: (endpoint) => ({ kind: "hetzner", endpoint, locations: ["fsn1", "nbg1"], sshKeys: ["ops"] }),
  image: HETZNER_IMAGE,
  instanceTypes: { cx22: { vcpus: 2, memory: "1GiB", price: TYPES.cx22?.price } },
};

export const FLY_WAY: WholeWay = {
  name: "fly",
  credentials: FLY_TOKEN,
  endsWithFirstProcess: true,
  async start({ onBoot, onEnd, port }) {
    const cloud = new FlyCloud({ bootMs: 500, endMs: 500, onBoot, onEnd: ({ id }) => onEnd(id) });
    return {
      ...(await serveFly(cloud, port)),
      settle: () => cloud.settle(),
      ended: (id) => cloud.exited(id),
      trouble(how) {
        Object.assign(cloud.faults, { listDelayMs: 2_000, enforcesRates: true });
        cloud.faults.errorRate = {
          error: how === "clear" ? flyFault(429, "rate limit exceeded") : flyFault(503, "upstream is gone"),
          part: 0.1,
        };
      },
      outage: (isOut, how) => outage(cloud, "ams", isOut, how),
      left: () => cloud.living.map(({ name }) => name),
      overRate: () => cloud.overRate,
      bill: () => cloud.all.reduce((sum, one) => sum + cloud.bill(one), 0),
    };
  },
  provider: (endpoint) => ({ kind: "fly", app: APP, endpoint, regions: ["ams", "fra"] }),
  image: FLY_IMAGE,
  instanceTypes: { small: { providerType: "shared-cpu-2x", vcpus: 2, memory: "1GiB", price: 0.1 } },
};

export const GCE_WAY: WholeWay = {
  name: "gce",
  credentials: JSON.stringify(KEY_OF_GOOGLE, null, 2),
  async start({ onBoot, onEnd, port }) {
    const cloud = new GceCloud({ bootMs: 500, endMs: 500, onBoot, onEnd: ({ id }) => onEnd(id) });
    return {
      ...(await serveGce(cloud, port)),
      settle: () => cloud.settle(),
      ended(id) {
        throw new Error(`${id} was switched off from within, and its disk would go on costing money`);
      },
      trouble: (how) =>
        Object.assign(cloud.faults, {
          errorRate: {
            error: how === "clear" ? gceFault(403, "userRateLimitExceeded") : gceFault(503, "backendError"),
            part: 0.1,
          },
          listDelayMs: 2_000,
          enforcesRates: true,
        }),
      outage: (isOut, how) => outage(cloud, ZONES[0] ?? "", isOut, how),
      left: () => cloud.living.map(({ name }) => name),
      overRate: () => cloud.overRate,
      bill: () => cloud.all.reduce((sum, one) => sum + cloud.bill(one), 0),
    };
  },
  provider: (endpoint) => ({ kind: "gce", project: PROJECT, endpoint, zones: ZONES.slice(0, 2) }),
  image: GCE_IMAGE,
  instanceTypes: { "e2-standard-2": { vcpus: 2, memory: "1GiB", price: 0.1 } },
};
