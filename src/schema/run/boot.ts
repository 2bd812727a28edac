// What a run's status says of the boot of its machine (api.md#boot-of-a-run).
import { z } from "zod";
import { BOOT_STEPS } from "../../shared/cloud/boot-steps.ts";
import { WORKER_STATES } from "../../shared/run-state.ts";
import { InstantText } from "../common.ts";

/** A step of a machine's boot, as readers see it (clouds.md#boot-record). */
export const BootStep = z
  .object({ at: InstantText, step: z.enum(BOOT_STEPS), text: z.string() })
  .meta({ id: "BootStep" });

/** How the machine of a run's latest placement became ready. */
export const RunBoot = z
  .object({
    worker: z.string(),
    state: z.enum(WORKER_STATES).describe("of the worker, now"),
    instanceType: z.string(),
    price: z.number().nullable().describe("of the machine per hour; null: unknown"),
    askedAt: InstantText.describe("when its pool asked for the machine"),
    createdAt: InstantText.nullable().describe("when its provider had made it; null: not yet, or unknown"),
    joinedAt: InstantText.nullable().describe("when its host joined"),
    readyAt: InstantText.nullable().describe("when it could take runs"),
    steps: z
      .array(BootStep)
      .describe("what the script that makes it a host has reported, without its own words"),
  })
  .meta({ id: "RunBoot" });
export type RunBoot = z.infer<typeof RunBoot>;
