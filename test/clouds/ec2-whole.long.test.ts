import { describe } from "vitest";
import { sized } from "../chance/length.ts";
import { EC2_WAY } from "./support/ways.ts";
import { testWholeWay } from "./support/whole.ts";

describe("a pool on EC2 (clouds/ec2.md)", () => testWholeWay(EC2_WAY, sized("clear", "unclear")));
