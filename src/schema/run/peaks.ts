// The most that one attempt has used (tasks.md#peaks).
import { z } from "zod";

const Bytes = z.int().min(0);

/**
 * The peaks of an attempt, as its host has measured them. An absent field was not measured; it never means 0.
 */
export const Peaks = z
  .object({
    memoryBytes: Bytes.optional().describe("the most memory at a time, with files that the kernel caches"),
    cacheBytes: Bytes.optional().describe(
      "cached files at the end, which `memoryBytes` may include; the kernel drops them when memory is short",
    ),
    memoryIsSampled: z
      .boolean()
      .optional()
      .describe("true: the kernel keeps no peak, so a short one between two samples is missing"),
    cpuMs: z.number().min(0).optional().describe("processor time in all, in milliseconds"),
    cpus: z.number().min(0).optional().describe("the most processors at a time, as an average over seconds"),
    diskBytes: Bytes.optional().describe("the most disk space in the task's directories at a time"),
    diskIsLeast: z
      .boolean()
      .optional()
      .describe("true: there are more files than the host counts, so `diskBytes` is too small"),
  })
  .meta({ id: "Peaks" });
export type Peaks = z.infer<typeof Peaks>;

/** A request of a task that was far from what the task has used (tasks.md#size-advice). */
export const SizeAdvice = z
  .object({
    task: z.string(),
    resource: z.enum(["memory", "vcpus", "disk"]),
    asked: z.number().describe("what was set aside: bytes, or vCPUs"),
    peak: z.number().describe("the most that it has used"),
    ask: z.number().describe("what would fit better"),
    text: z.string().describe("the fact in words, without its subject"),
  })
  .meta({ id: "SizeAdvice" });
export type SizeAdvice = z.infer<typeof SizeAdvice>;
