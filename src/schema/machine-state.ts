// What did the provider answer when it was asked for a machine?
import { z } from "zod";

/** The outcome of asking a provider for a machine. */
export const MachineState = z.enum(["asked", "refused", "unconfirmed", "made"]).meta({
  id: "MachineState",
  description:
    "`refused`: the provider refused; `unconfirmed`: it was not reached, or its answer leaves open " +
    "whether it made the machine",
});

/** How many booting workers have no machine yet, by the outcome of the request for a machine. */
export const Unmade = z
  .object({ asked: z.int(), refused: z.int(), unconfirmed: z.int().optional() })
  .describe("booting workers without a machine yet, by outcome of the request");
