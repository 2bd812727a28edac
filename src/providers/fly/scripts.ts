// Which scripts run on a machine of Fly, beside the one that makes it a host?
import main from "./main.sh";
import notice from "./notice.sh";

/** The first process of a machine, which runs the file `user-data` beside it (clouds/fly.md#create). */
export const FLY_MAIN: string = main;

/** A script for `sh -c` that prints the notice of a stop, or nothing (clouds/fly.md#notice). */
export const FLY_NOTICE: string = notice;
