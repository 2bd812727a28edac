import { describe } from "vitest";
import { sized } from "../chance/length.ts";
import { FLY_WAY } from "./support/ways.ts";
import { testWholeWay } from "./support/whole.ts";

describe("a pool on Fly (clouds/fly.md)", () => testWholeWay(FLY_WAY, sized("clear", "unclear")));
