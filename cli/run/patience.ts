// How long `drover run` keeps trying when Drover does not answer.

/** After this long without contact, the command gives up; the run itself may go on. */
export const OUT_OF_SIGHT_MS = 120_000;
export const PATIENCE = { unreachableMs: OUT_OF_SIGHT_MS, busyMs: OUT_OF_SIGHT_MS };
