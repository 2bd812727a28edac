import { describe } from "vitest";
import { sized } from "../chance/length.ts";
import { HETZNER_WAY } from "./support/ways.ts";
import { testWholeWay } from "./support/whole.ts";

describe("a pool on Hetzner Cloud (clouds/hetzner.md)", () =>
  testWholeWay(HETZNER_WAY, sized("clear", "unclear")));
