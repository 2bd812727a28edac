/** For how long a run that goes on may be out of sight before the command that attends it gives up. */
export const OUT_OF_SIGHT_MS = 120_000;
export const PATIENCE = { unreachableMs: OUT_OF_SIGHT_MS, busyMs: OUT_OF_SIGHT_MS };
