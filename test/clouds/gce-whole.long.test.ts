import { describe } from "vitest";
import { sized } from "../chance/length.ts";
import { GCE_WAY } from "./support/ways.ts";
import { testWholeWay } from "./support/whole.ts";

describe("a pool on Google Compute Engine (clouds/gce.md)", () =>
  testWholeWay(GCE_WAY, sized("clear", "unclear")));
