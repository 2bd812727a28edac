import { z } from "zod";

/** What came of asking a provider for a machine. */
export const MachineState = z.enum(["asked", "refused", "unconfirmed", "made"]).meta({
  id: "MachineState",
  description:
    "`refused`: the provider has said no; `unconfirmed`: it was not reached, or its answer leaves open " +
    "whether it has made the machine",
});

/** How many workers are said to boot and have no machine yet, by what came of asking for it. */
export const Unmade = z
  .object({ asked: z.int(), refused: z.int(), unconfirmed: z.int().optional() })
  .meta({ description: "of those that are booting: how many have no machine yet, by what came of asking" });
