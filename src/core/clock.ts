/**
 * The cron by which `drover up` says that the platform's clock has been set: alarms that were armed before
 * come at the wrong time, so all that lives is woken. No deployment has such a cron.
 */
export const CLOCK_WAS_SET = "clock was set";
