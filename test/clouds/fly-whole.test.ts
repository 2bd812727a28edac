import { describe } from "vitest";
import { sized } from "../chance/length.ts";
import { APP, FlyCloud, fault, IMAGE, serveFly, TOKEN } from "./fly-fake.ts";
import { testWholeWay } from "./support/whole.ts";

/** A create that may have worked all the same takes minutes to be disproved. */
const TROUBLE = sized(fault(429, "rate limit exceeded"), fault(503, "upstream is gone"));

describe("a pool on Fly (clouds/fly.md)", () => {
  testWholeWay({
    name: "fly",
    credentials: TOKEN,
    endsWithFirstProcess: true,
    async start({ onBoot, onEnd }) {
      const cloud = new FlyCloud({ bootMs: 500, endMs: 500, onBoot, onEnd: ({ id }) => onEnd(id) });
      return {
        ...(await serveFly(cloud)),
        settle: () => cloud.settle(),
        ended: (id) => cloud.exited(id),
        trouble() {
          Object.assign(cloud.faults, { listDelayMs: 2_000, enforcesRates: true });
          cloud.faults.errorRate = { error: TROUBLE, part: 0.1 };
        },
        outage: (isOut) => void cloud.faults.zoneOutage[isOut ? "add" : "delete"]("ams"),
        left: () => cloud.living.map(({ name }) => name),
        overRate: () => cloud.overRate,
        bill: () => cloud.all.reduce((sum, one) => sum + cloud.bill(one), 0),
      };
    },
    provider: (endpoint) => ({ kind: "fly", app: APP, endpoint, regions: ["ams", "fra"] }),
    image: IMAGE,
    instanceTypes: { small: { providerType: "shared-cpu-2x", vcpus: 2, memory: "1GiB", price: 0.1 } },
  });
});
