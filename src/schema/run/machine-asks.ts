// What can a run ask of its machine besides room (clouds.md#asks)?
import { z } from "zod";
import { Size } from "../common.ts";

/** The architectures for which there is an agent. */
export const Arch = z.enum(["x64", "arm64"]);

const Label = z.string().min(1).max(64);

/** A GPU, as types describe it and as runs ask for it. */
export const Gpu = z
  .strictObject({
    vendor: Label.optional(),
    model: Label.optional(),
    memory: Size.optional().describe("the memory of one GPU"),
  })
  .meta({ id: "Gpu" });

/** What a run asks of its machine. What is absent does not matter. */
export const MachineAsks = z
  .strictObject({
    spot: z
      .enum(["never", "only"])
      .optional()
      .describe("`never`: the provider must not interrupt the machine; `only`: nothing dearer"),
    arch: Arch.optional(),
    zones: z
      .array(z.string().min(1).max(64))
      .min(1)
      .max(16)
      .optional()
      .describe("zones, locations or regions; the beginning of a name is enough, such as `eu-west-1`"),
    gpu: Gpu.optional(),
  })
  .meta({ id: "MachineAsks", description: "what the run asks of its machine besides room" });
export type MachineAsks = z.output<typeof MachineAsks>;
