// Which steps does the boot of a machine have (clouds.md#boot-record)?

/**
 * The steps of a boot. `begin`: the script runs. `node`, `agent`: it looks for them, or fetches them.
 * `start`, `end`: of the agent. `failed`: the script has given up. `output`: its last words.
 */
export const BOOT_STEPS = ["begin", "node", "agent", "start", "end", "failed", "output"] as const;
export type BootStepName = (typeof BOOT_STEPS)[number];

/** The longest record that the script of a machine may send, in bytes. */
export const MAX_BOOT_RECORD_BYTES = 16_384;
