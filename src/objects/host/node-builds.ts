// Which Node does a machine fetch that has none (clouds.md#booting)?

/** A build of Node for a processor: the name of its archives without their ends, and their SHA-256. */
interface NodeBuild {
  name: string;
  xz: string;
  gz: string;
}

/** The builds of a version, and the address below which their archives are. */
export interface NodeBuilds {
  url: string;
  x64: NodeBuild;
  arm64: NodeBuild;
}

/** The digests are those in the version's `SHASUMS256.txt`. */
export const NODE_BUILDS: NodeBuilds = {
  url: "https://nodejs.org/dist/v24.21.0",
  x64: {
    name: "node-v24.21.0-linux-x64",
    xz: "fd8e59d5a511510f6a298afb548f18c7d2b1be404d8b4a27d94fbe49f56cb2d6",
    gz: "6e1db87ef58b8819e5d5402eff1536491b18edd8eb7bee5ef7897876e88dc5ff",
  },
  arm64: {
    name: "node-v24.21.0-linux-arm64",
    xz: "6ad1325edbdb5649c379b75a237147a666c95d4f9ae8d340fef2d1575d289ad2",
    gz: "724282c3b43aec998aa9527380465b45d229e021b58035f5f4f63095eabfe5d5",
  },
};
