// Which types do clouds have that name no prices themselves, and what did those cost when this was written?
import type { Offer } from "./offer.ts";

/**
 * Types with list prices, as the vendors' pages had them. No bill has confirmed them, they differ between
 * regions, and they change: the report says so, and `--type TYPE=PRICE` says what is true for the caller.
 */
export interface PriceList {
  /** Which place the prices are of. */
  at: string;
  /** Where the present ones are. */
  page: string;
  offers: readonly Offer[];
}

const x64 = { arch: "x64", gpus: 0 } as const;
const arm64 = { arch: "arm64", gpus: 0 } as const;

/** What a spot machine of Google costs at most, as a part of the price on demand: Google says 60 % off. */
const GCE_SPOT = 0.4;

const onGce = (type: string, vcpus: number, memoryGib: number, price: number): Offer => ({
  ...{ type, vcpus, memoryGib, price, ...x64 },
  spotPrice: price * GCE_SPOT,
});

/** The price lists, in US dollars an hour. */
export const PRICE_LISTS: Readonly<Record<"ec2" | "fly" | "gce", PriceList>> = {
  ec2: {
    at: "us-east-1",
    page: "https://aws.amazon.com/ec2/pricing/on-demand/",
    offers: [
      { type: "t3.medium", vcpus: 2, memoryGib: 4, price: 0.0416, ...x64 },
      { type: "t3.large", vcpus: 2, memoryGib: 8, price: 0.0832, ...x64 },
      { type: "c7g.large", vcpus: 2, memoryGib: 4, price: 0.0725, ...arm64 },
      { type: "m7g.large", vcpus: 2, memoryGib: 8, price: 0.0816, ...arm64 },
      { type: "c7i.large", vcpus: 2, memoryGib: 4, price: 0.08925, ...x64 },
      { type: "m7i.large", vcpus: 2, memoryGib: 8, price: 0.1008, ...x64 },
      { type: "c7g.xlarge", vcpus: 4, memoryGib: 8, price: 0.145, ...arm64 },
      { type: "c7i.xlarge", vcpus: 4, memoryGib: 8, price: 0.1785, ...x64 },
      { type: "m7i.xlarge", vcpus: 4, memoryGib: 16, price: 0.2016, ...x64 },
      { type: "c7i.2xlarge", vcpus: 8, memoryGib: 16, price: 0.357, ...x64 },
      { type: "m7i.2xlarge", vcpus: 8, memoryGib: 32, price: 0.4032, ...x64 },
      { type: "c7i.4xlarge", vcpus: 16, memoryGib: 32, price: 0.714, ...x64 },
      { type: "g6.xlarge", vcpus: 4, memoryGib: 16, price: 0.8048, arch: "x64", gpus: 1 },
      { type: "g5.xlarge", vcpus: 4, memoryGib: 16, price: 1.006, arch: "x64", gpus: 1 },
    ],
  },
  fly: {
    at: "most regions",
    page: "https://fly.io/docs/about/pricing/",
    offers: [
      { type: "shared-cpu-1x", vcpus: 1, memoryGib: 1, price: 0.008, ...x64 },
      { type: "shared-cpu-2x", vcpus: 2, memoryGib: 1, price: 0.009, ...x64 },
      { type: "shared-cpu-4x", vcpus: 4, memoryGib: 2, price: 0.018, ...x64 },
      { type: "shared-cpu-8x", vcpus: 8, memoryGib: 4, price: 0.036, ...x64 },
      { type: "performance-1x", vcpus: 1, memoryGib: 2, price: 0.0447, ...x64 },
      { type: "performance-2x", vcpus: 2, memoryGib: 4, price: 0.0894, ...x64 },
      { type: "performance-4x", vcpus: 4, memoryGib: 8, price: 0.1789, ...x64 },
      { type: "performance-8x", vcpus: 8, memoryGib: 16, price: 0.3577, ...x64 },
      { type: "performance-16x", vcpus: 16, memoryGib: 32, price: 0.7154, ...x64 },
    ],
  },
  gce: {
    at: "us-central1",
    page: "https://cloud.google.com/compute/all-pricing",
    offers: [
      onGce("e2-standard-2", 2, 8, 0.067),
      onGce("t2d-standard-2", 2, 8, 0.0845),
      onGce("n2-standard-2", 2, 8, 0.0971),
      onGce("e2-standard-4", 4, 16, 0.134),
      onGce("t2d-standard-4", 4, 16, 0.169),
      onGce("n2-standard-4", 4, 16, 0.1942),
      onGce("c3-standard-4", 4, 16, 0.2015),
      onGce("e2-standard-8", 8, 32, 0.268),
      onGce("n2-standard-8", 8, 32, 0.3885),
      onGce("c3-standard-8", 8, 32, 0.403),
    ],
  },
};
