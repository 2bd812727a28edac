// Which calls to a run remain for a caller, and what do their answers show (access.md#walls)?
import type { AllocationApi, Objects, RequestAnswer } from "../../objects/rpc.ts";
import type { RunStatus } from "../../schema/run/run.ts";
import { grants } from "../../shared/access/scopes.ts";
import type { Caller, Wall } from "../access/caller.ts";
import { hasCode } from "../http/problem.ts";
import { refuseHidden, withHiddenValues } from "./hidden-values.ts";
import {
  idTaken,
  isOfHiddenRun,
  isOfProject,
  limitsRuns,
  maySeeRun,
  refuseSecrets,
  unknownRun,
  withinLimits,
} from "./run-limits.ts";

/**
 * A run as it exists for a caller. A run beyond the limits is unknown, and values that the caller may not
 * read are hidden.
 */
export function walledRun(objects: Objects, caller: Caller, run: string): AllocationApi {
  const { limits, scopes } = caller;
  const isHere = isOfProject(caller, run);
  const api = () => objects.allocation(run);
  const shown = (status: RunStatus) => (grants(scopes, "runs:env") ? status : withHiddenValues(status));
  const shownAnswer = ({ status, replayed }: RequestAnswer) => ({ status: shown(status), replayed });
  let visible: Promise<void> | undefined;
  /** Throws if the limits hide the run. Asks the run for its pool and labels at most once. */
  const known = async () => {
    if (!isHere) throw unknownRun(run);
    visible ??= limitsRuns(limits) ? refuseUnseen(objects, run, caller) : Promise.resolve();
    await visible;
  };
  const taken = () => idTaken(`the id "${run}"`);
  const seen = async <Answer>(call: (run: AllocationApi) => Promise<Answer>): Promise<Answer> => {
    await known();
    return call(api());
  };
  return {
    async submit({ spec, ...rest }) {
      if (!isHere) throw unknownRun(run);
      refuseSecrets(spec, caller);
      const request = { ...rest, spec: withinLimits(spec, limits) };
      const { created, status } = await api()
        .submit(request)
        .catch((error: unknown) => {
          throw isOfHiddenRun(error, caller) ? taken() : error;
        });
      if (!created && !maySeeRun(caller, status)) throw taken();
      return { created, status: shown(status) };
    },
    read: (...args) => seen(async (one) => shown(await one.read(...args))),
    wait: (...args) => seen(async (one) => shown(await one.wait(...args))),
    summary: (...args) => seen((one) => one.summary(...args)),
    abort: (...args) => seen(async (one) => shown(await one.abort(...args))),
    release: (...args) => seen(async (one) => shown(await one.release(...args))),
    redrive: (...args) => seen(async (one) => shown(await one.redrive(...args))),
    restart: (...args) => seen(async (one) => shownAnswer(await one.restart(...args))),
    signal: (...args) => seen(async (one) => shownAnswer(await one.signal(...args))),
    tunnel: (...args) => seen((one) => one.tunnel(...args)),
    update: ({ spec, ...request }) =>
      seen(async (one) => {
        refuseHidden(spec, "/spec");
        refuseSecrets(spec, caller, "/spec");
        return shown(await one.update({ ...request, spec: withinLimits(spec, limits, "/spec") }));
      }),
    events: (...args) => seen((one) => one.events(...args)),
    why: () => seen((one) => one.why()),
    stats: (...args) => seen((one) => one.stats(...args)),
    log: (...args) => seen((one) => one.log(...args)),
    arrivals: (...args) => seen((one) => one.arrivals(...args)),
    line: (...args) => seen((one) => one.line(...args)),
    storeLog: (...args) => seen((one) => one.storeLog(...args)),
  };
}

/** Throws `unknown_run` for a run that is beyond the limits, and for one that was deleted. */
async function refuseUnseen(objects: Objects, run: string, wall: Wall): Promise<void> {
  try {
    if (maySeeRun(wall, await objects.allocation(run).summary())) return;
  } catch (error) {
    // The pool and labels of a deleted run are no longer known, so the limits hide the run.
    if (!hasCode(error, "expired_run")) throw error;
  }
  throw unknownRun(run);
}
