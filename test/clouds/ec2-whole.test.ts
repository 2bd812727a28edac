import { describe } from "vitest";
import { Ec2Cloud, KEYS, REGION, serveEc2 } from "./ec2-fake.ts";
import { testWholeWay } from "./support/whole.ts";

describe("a pool on EC2 (clouds/ec2.md)", () => {
  testWholeWay({
    name: "ec2",
    credentials: `${JSON.stringify(KEYS, null, 2)}\n`,
    async start({ onBoot, onEnd }) {
      const cloud = new Ec2Cloud({
        bootMs: 500,
        endMs: 500,
        onBoot: ({ id, token = "", userData }) => onBoot({ id, name: token, userData }),
        onEnd: ({ id }) => onEnd(id),
      });
      const { server, url } = await serveEc2(cloud);
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
        outage: (isOut) => void cloud.faults.zoneOutage[isOut ? "add" : "delete"]("eu-west-1a"),
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
  });
});
