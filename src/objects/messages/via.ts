// How do objects learn by which request of a user they are called (audit.md#via)?
import type { Via } from "../../core/audit/via.ts";
import type { RegistryEvent, RegistryMessage, RegistryState } from "../../core/registry/machine.ts";
import type { Objects } from "../rpc.ts";
import type { Shell } from "../shell.ts";

type Called = Pick<Objects, "allocation" | "worker" | "pool" | "webhook" | "job">;

/** The objects, whose calls that have an entry in the audit log name the request. */
export function calledVia(objects: Called, via: Via): Called {
  return {
    allocation(run) {
      const one = objects.allocation(run);
      return replacing(one, {
        submit: (request) => one.submit({ ...request, via }),
        abort: (request) => one.abort({ ...request, via }),
        release: (request) => one.release({ ...request, via }),
        redrive: (request) => one.redrive({ ...request, via }),
        restart: (request, key) => one.restart(request, key, via),
        signal: (request, key) => one.signal(request, key, via),
        tunnel: (request, key) => one.tunnel(request, key, via),
        update: (request) => one.update({ ...request, via }),
      });
    },
    worker(id) {
      const one = objects.worker(id);
      return replacing(one, {
        setBehavior: (behavior, by) => one.setBehavior(behavior, by, via),
        kill: (request) => one.kill({ ...request, via }),
      });
    },
    pool(name) {
      const one = objects.pool(name);
      return replacing(one, {
        forget: (run, by) => one.forget(run, by, via),
        invite: (request) => one.invite({ ...request, via }),
      });
    },
    job(name) {
      const one = objects.job(name);
      return replacing(one, {
        put: (request) => one.put(request, via),
        remove: (by) => one.remove(by, via),
        trigger: (request) => one.trigger(request, via),
        redrive: (request) => one.redrive(request, via),
        pause: (by) => one.pause(by, via),
        resume: (makeUp, by) => one.resume(makeUp, by, via),
      });
    },
    webhook(id) {
      const one = objects.webhook(id);
      return replacing(one, {
        replay: (request, by) => one.replay(request, by, via),
        disable: (by) => one.disable(by, via),
        enable: (from, by) => one.enable(from, by, via),
      });
    },
  };
}

/** An interface of which some methods are replaced. */
function replacing<Api extends object>(api: Api, calls: Partial<Api>): Api {
  return new Proxy(api, {
    get(target, name) {
      if (Object.hasOwn(calls, name)) return Reflect.get(calls, name);
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return (...args: unknown[]) => Reflect.apply(method, target, args);
    },
  });
}

/** The shell of the registry, as its calls use it. */
export type RegistryShell = Pick<
  Shell<RegistryState, RegistryEvent, RegistryMessage>,
  "enter" | "now" | "actor"
>;

/** The shell of the registry for one call, whose events name the request. */
export function enteredVia(shell: RegistryShell, via: Via | undefined): RegistryShell {
  const { actor, now } = shell;
  return { actor, now, enter: (event = { type: "tick" }) => shell.enter({ ...event, via }) };
}
