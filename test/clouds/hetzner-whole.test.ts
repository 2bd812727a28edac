import { describe } from "vitest";
import { sized } from "../chance/length.ts";
import { fault, HetznerCloud, IMAGE, serveHetzner, TOKEN, TYPES } from "./hetzner-fake.ts";
import { testWholeWay } from "./support/whole.ts";

/** A create that may have worked all the same takes minutes to be disproved. */
const TROUBLE = sized(fault(423, "locked"), fault(503, "unavailable"));

describe("a pool on Hetzner Cloud (clouds/hetzner.md)", () => {
  testWholeWay({
    name: "hetzner",
    credentials: `${TOKEN}\n`,
    async start({ onBoot, onEnd }) {
      const cloud = new HetznerCloud({ bootMs: 500, endMs: 500, onBoot, onEnd: ({ id }) => onEnd(id) });
      return {
        ...(await serveHetzner(cloud)),
        settle: () => cloud.settle(),
        ended(id) {
          throw new Error(`server ${id} was switched off from within, and would go on costing money`);
        },
        trouble: () =>
          Object.assign(cloud.faults, {
            errorRate: { error: TROUBLE, part: 0.1 },
            listDelayMs: 2_000,
            enforcesRates: true,
          }),
        outage: (isOut) => void cloud.faults.zoneOutage[isOut ? "add" : "delete"]("fsn1"),
        left: () => cloud.living.map(({ name }) => name),
        overRate: () => cloud.calls.filter(({ status }) => status === 429),
        bill: () => cloud.all.reduce((sum, one) => sum + cloud.bill(one), 0),
      };
    },
    provider: (endpoint) => ({ kind: "hetzner", endpoint, locations: ["fsn1", "nbg1"], sshKeys: ["ops"] }),
    image: IMAGE,
    instanceTypes: { cx22: { vcpus: 2, memory: "1GiB", price: TYPES.cx22?.price } },
  });
});
